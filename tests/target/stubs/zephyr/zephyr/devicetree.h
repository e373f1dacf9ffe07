/* What the sample uses of zephyr/devicetree.h, for a board whose overlay names STUB_CHANNELS (1 to 3) channels, or
 * none. */
#ifndef DEVICETREE_H
#define DEVICETREE_H

#define DT_PATH(node) node

#ifdef STUB_CHANNELS
#define DT_NODE_HAS_PROP(node, property) 1
#else
#define DT_NODE_HAS_PROP(node, property) 0
#endif

#define STUB_EACH_1(node, property, use) use(node, property, 0)
#define STUB_EACH_2(node, property, use) STUB_EACH_1(node, property, use) use(node, property, 1)
#define STUB_EACH_3(node, property, use) STUB_EACH_2(node, property, use) use(node, property, 2)
#define STUB_PASTE(count) STUB_EACH_##count
#define STUB_EACH(count) STUB_PASTE(count)
#define DT_FOREACH_PROP_ELEM(node, property, use) STUB_EACH(STUB_CHANNELS)(node, property, use)

#endif
