/* What the adapters of an export's examples are run against: a flash whose bits are only cleared, settings by name,
 * files. */
#include <map>
#include <string.h>
#include <string>
#include <vector>

extern "C" {
#include "esp_log.h"
#include "esp_partition.h"
#include "nvs.h"
#include "nvs_flash.h"
#include <zephyr/drivers/flash.h>
#include <zephyr/settings/settings.h>
#include <zephyr/storage/flash_map.h>
#include <zephyr/sys/printk.h>
}

#include <LittleFS.h>

typedef std::vector<unsigned char> blob;

static std::map<std::string, blob> named;
static blob flash_bytes(16 * 4096, 0x5a); /* never erased yet */

static int program(size_t offset, const void *bytes, size_t count)
{
    const unsigned char *from = (const unsigned char *)bytes;
    for (size_t i = 0; i < count; i++) {
        if (flash_bytes.at(offset + i) != 0xff) {
            return -1;
        }
        flash_bytes[offset + i] = from[i];
    }
    return 0;
}

static int take(size_t offset, void *bytes, size_t count)
{
    memcpy(bytes, &flash_bytes.at(offset), count);
    return 0;
}

static int erase(size_t offset, size_t count)
{
    if (offset % 4096 || count != 4096) {
        return -1;
    }
    memset(&flash_bytes.at(offset), 0xff, count);
    return 0;
}

extern "C" {
void stub_log(const char *, const char *, ...) {}
void printk(const char *, ...) {}

static const esp_partition_t partition = {0, 16 * 4096};
const esp_partition_t *esp_partition_find_first(esp_partition_type_t, esp_partition_subtype_t, const char *label)
{
    return strcmp(label, "model") ? NULL : &partition;
}
esp_err_t esp_partition_read(const esp_partition_t *, size_t at, void *to, size_t count) { return take(at, to, count); }
esp_err_t esp_partition_write(const esp_partition_t *, size_t at, const void *from, size_t count)
{
    return program(at, from, count);
}
esp_err_t esp_partition_erase_range(const esp_partition_t *, size_t at, size_t count) { return erase(at, count); }

esp_err_t nvs_flash_init(void) { return 0; }
esp_err_t nvs_open(const char *name, nvs_open_mode_t, nvs_handle_t *) { return strlen(name) > 15; }
esp_err_t nvs_commit(nvs_handle_t) { return 0; }
esp_err_t nvs_set_blob(nvs_handle_t, const char *key, const void *value, size_t length)
{
    const unsigned char *from = (const unsigned char *)value;
    named[key] = blob(from, from + length);
    return strlen(key) > 15;
}
esp_err_t nvs_get_blob(nvs_handle_t, const char *key, void *value, size_t *length)
{
    if (!named.count(key) || named[key].size() > *length) {
        return 0x110c; /* invalid length: a blob is read whole */
    }
    *length = named[key].size();
    memcpy(value, named[key].data(), *length);
    return 0;
}

static const struct flash_area area = {1, 0x10000, 16 * 4096, NULL};
int flash_area_open(uint8_t, const struct flash_area **found) { return *found = &area, 0; }
int flash_area_read(const struct flash_area *, off_t at, void *to, size_t count) { return take((size_t)at, to, count); }
int flash_area_write(const struct flash_area *, off_t at, const void *from, size_t count)
{
    return program((size_t)at, from, count);
}
int flash_area_erase(const struct flash_area *, off_t at, size_t count) { return erase((size_t)at, count); }
int flash_get_page_info_by_offs(const struct device *, off_t offset, struct flash_pages_info *info)
{
    info->size = 4096;
    return offset != 0x10000;
}

int settings_subsys_init(void) { return 0; }
int settings_save_one(const char *name, const void *value, size_t length)
{
    const unsigned char *from = (const unsigned char *)value;
    named[name] = blob(from, from + length);
    return 0;
}
static ssize_t take_setting(void *source, void *to, size_t count)
{
    const blob &from = *(const blob *)source;
    memcpy(to, from.data(), count);
    return (ssize_t)count;
}
/* Settings below the name are found too. */
int settings_load_subtree_direct(const char *subtree, settings_load_direct_cb found, void *wanted)
{
    size_t length = strlen(subtree);
    for (auto &one : named) {
        if (one.first.compare(0, length, subtree) == 0 && (one.first[length] == 0 || one.first[length] == '/')) {
            const char *rest = one.first.c_str() + length;
            found(*rest ? rest + 1 : NULL, one.second.size(), take_setting, &one.second, wanted);
        }
    }
    return 0;
}
}

/* Files keep their old content until a new one is closed. */
static std::vector<std::pair<std::string, blob>> open_files;
FS LittleFS;
bool FS::begin(bool) { return true; }
bool FS::exists(const char *path) { return named.count(path); }
File FS::open(const char *path, const char *mode)
{
    File file;
    file.number = (int)open_files.size();
    open_files.push_back({*mode == 'w' ? path : "", *mode == 'w' ? blob() : named[path]});
    return file;
}
File::operator bool() const { return number >= 0; }
size_t File::write(const uint8_t *bytes, size_t count)
{
    blob &to = open_files[(size_t)number].second;
    to.insert(to.end(), bytes, bytes + count);
    return count;
}
size_t File::read(uint8_t *bytes, size_t count)
{
    const blob &from = open_files[(size_t)number].second;
    size_t left = place < from.size() ? from.size() - place : 0, got = left < count ? left : count;
    memcpy(bytes, from.data() + place, got);
    place += (uint32_t)got;
    return got;
}
bool File::seek(uint32_t position) { return place = position, true; }
void File::close()
{
    if (number >= 0 && !open_files[(size_t)number].first.empty()) {
        named[open_files[(size_t)number].first] = open_files[(size_t)number].second;
    }
    number = -1;
}
