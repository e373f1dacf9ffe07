"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const STATES = [["act", "Act now", "need inspection"], ["watch", "Watch", "drifting or different from the fleet"],
    ["healthy", "Healthy", "within the fleet's range"], ["silent", "Silent", "no usable recent log"]];
  const WORD = Object.fromEntries(STATES.map(([key, word]) => [key, word]));
  const MARK = {
    act: '<circle cx="7" cy="7" r="7" fill="currentColor"/><path d="M4.4 4.4l5.2 5.2M9.6 4.4l-5.2 5.2" stroke="var(--card)" stroke-width="1.8"/>',
    watch: '<path d="M7 1l6.5 12h-13z" fill="currentColor"/>',
    healthy: '<circle cx="7" cy="7" r="7" fill="currentColor"/><path d="M3.8 7.2l2.2 2.3 4.2-4.6" stroke="var(--card)" stroke-width="1.8" fill="none"/>',
    silent: '<circle cx="7" cy="7" r="6" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2.4 2.2"/>',
  };
  const ROWS = 25, CARDS = 12, BINS = 40;
  const FAR = 8; // standard deviations from the mean beyond which a machine is drawn at the border
  const view = { quantity: data.shown, state: "", find: "", labels: {}, sort: "rank", down: false, page: 0 };

  const safe = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  const icon = (state) => `<svg viewBox="0 0 14 14" aria-hidden="true">${MARK[state]}</svg>`;
  const badge = (state) => `<span class="badge s-${state}">${icon(state)}${WORD[state]}</span>`;
  const number = (value, digits = 3) => value === null || value === undefined ? "–"
    : (Math.abs(value) >= 1e5 || (Math.abs(value) < 1e-3 && value !== 0) ? value.toExponential(digits - 1) : String(+value.toPrecision(digits))).replace("-", "−");
  const signed = (value, digits = 1) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value).toFixed(digits);
    return (+size === 0 ? "" : value > 0 ? "+" : "−") + size;
  };

  const shownValue = (q, value) => value === null ? null : data.quantities[q].log ? Math.exp(value) : value;

  // Deviation from the fleet's median of the same period, in per cent (of the spread if the median is about 0).
  function deviations(q, values) {
    const { median, scale, log } = data.quantities[q];
    return values.map((value, t) => value === null ? null : log ? 100 * Math.expm1(value - median[t]) : 100 * (value - median[t]) / scale);
  }
  function band(q) {
    const { low, high, median, scale, log } = data.quantities[q];
    return low.map((value, t) => [value, high[t]].map((end) => log ? 100 * Math.expm1(end - median[t]) : 100 * (end - median[t]) / scale).sort((a, b) => a - b));
  }

  function trend(q, values, { width, height, axis }) {
    const left = axis ? 46 : 2, bottom = axis ? 18 : 2, top = 6, right = 6;
    const line = deviations(q, values), fleet = band(q), count = line.length;
    const all = [...line.filter((v) => v !== null), ...fleet.flat(), 0];
    let low = Math.min(...all), high = Math.max(...all);
    const margin = 0.08 * (high - low || 1); low -= margin; high += margin;
    const x = (t) => left + (count > 1 ? t / (count - 1) : 0.5) * (width - left - right);
    const y = (v) => top + (high - v) / (high - low) * (height - top - bottom);
    const at = (t, v) => `${x(t).toFixed(1)},${y(v).toFixed(1)}`;
    const area = count > 1 ? `<polygon points="${[...fleet.map((b, t) => at(t, b[1])), ...fleet.map((b, t) => at(t, b[0])).reverse()].join(" ")}" fill="var(--line)"/>`
      : `<rect x="${left}" width="${width - left - right}" y="${y(fleet[0][1])}" height="${Math.max(1, y(fleet[0][0]) - y(fleet[0][1]))}" fill="var(--line)"/>`;
    const zero = `<line x1="${left}" x2="${width - right}" y1="${y(0)}" y2="${y(0)}" stroke="var(--measured)" stroke-width="1.2"/>`;
    const known = line.map((v, t) => [t, v]).filter(([, v]) => v !== null);
    const path = `<polyline points="${known.map(([t, v]) => at(t, v)).join(" ")}" fill="none" stroke="var(--model)" stroke-width="${axis ? 2 : 1.5}" stroke-linejoin="round"/>`;
    const dots = axis || known.length < 2 ? known.map(([t, v]) => `<circle cx="${x(t).toFixed(1)}" cy="${y(v).toFixed(1)}" r="${axis ? 2.2 : 2}" fill="var(--model)"/>`).join("") : "";
    let ticks = "";
    if (axis) {
      const step = nice((high - low) / 3), unit = data.quantities[q].relative ? " %" : "";
      for (let v = Math.ceil(low / step) * step; v <= high; v += step)
        ticks += `<text x="${left - 6}" y="${y(v) + 4}" text-anchor="end">${signed(v, step < 1 ? 1 : 0)}${unit}</text>`;
      const ends = count > 1 ? [[0, "start"], [count - 1, "end"]] : [[0, "middle"]];
      for (const [t, anchor] of ends) ticks += `<text x="${x(t)}" y="${height - 3}" text-anchor="${anchor}">${safe(data.periods[t])}</text>`;
    }
    return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${safe(data.quantities[q].name)} over time against the fleet">${area}${zero}${path}${dots}${ticks}</svg>`;
  }
  function nice(step) {
    const power = 10 ** Math.floor(Math.log10(step)), share = step / power;
    return (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10) * power;
  }

  const matches = () => data.machines.filter((m) => (!view.state || m.state === view.state)
    && Object.entries(view.labels).every(([name, value]) => !value || m.labels[name] === value)
    && (!view.find || `${m.name} ${m.reasons.join(" ")}`.toLowerCase().includes(view.find)));

  function tiles() {
    byId("tiles").innerHTML = STATES.map(([key, word, note]) => `<button type="button" class="tile" data-state="${key}" aria-pressed="${view.state === key}">
      <span><i class="s-${key}">${icon(key)}</i> ${word}</span><b>${data.machines.filter((m) => m.state === key).length.toLocaleString("en")}</b><span>${note}</span></button>`).join("");
  }

  function cards(found) {
    const flagged = found.filter((m) => m.flag >= 0 || m.state === "silent");
    const shown = flagged.slice(0, CARDS);
    byId("cards").innerHTML = shown.map((m) => {
      const q = m.flag >= 0 ? m.flag : view.quantity;
      return `<button type="button" class="card open" data-machine="${safe(m.name)}"><span class="top"><span>${safe(m.name)}</span><span class="s-${m.state}">${WORD[m.state]}</span></span>
        <p>${safe(m.reasons[0] || "")}</p>${m.values.length ? trend(q, m.values[q], { width: 190, height: 118, axis: true }) : ""}</button>`;
    }).join("");
    byId("more").textContent = flagged.length > CARDS ? `${flagged.length - CARDS} more in the table below.`
      : flagged.length ? "" : "No machine is flagged.";
  }

  // Axis of one quantity: the fleet's mean and spread, and limits that ignore machines far outside.
  function scale(n, values) {
    const f = data.quantities[n], [middle, spread] = f.log ? [Math.exp(f.mean), Math.exp(f.mean) * f.spread] : [f.mean, f.spread];
    const reach = spread > 0 ? FAR * spread : Infinity, inside = values.filter((v) => Math.abs(v - middle) <= reach);
    const low = Math.min(...inside, middle - 3 * spread), high = Math.max(...inside, middle + 3 * spread), pad = 0.05 * (high - low || Math.abs(middle) || 1);
    const ticks = [], step = nice((high - low + 2 * pad) / 4);
    for (let v = Math.ceil((low - pad) / step) * step; v <= high + pad && ticks.length < 9; v += step) ticks.push(+v.toPrecision(6));
    return { middle, spread, low: low - pad, high: high + pad, ticks };
  }
  function histogram(values, axis, x, bottom, height) {
    const counts = new Array(BINS).fill(0), width = (axis.high - axis.low) / BINS;
    for (const v of values) { const bin = Math.floor((v - axis.low) / width); if (bin >= 0 && bin < BINS) counts[bin]++; }
    const most = Math.max(...counts, 1);
    return counts.map((count, bin) => count ? `<rect x="${(x(axis.low + bin * width) + 0.5).toFixed(1)}" width="${(x(width) - x(0) - 1).toFixed(1)}" y="${(bottom - count / most * height).toFixed(1)}" height="${(count / most * height).toFixed(1)}" fill="var(--measured)" fill-opacity=".5"><title>${count}</title></rect>` : "").join("");
  }

  function plane(found) {
    const q = view.quantity, other = data.plane.find((n) => n !== q), alone = other === undefined;
    const W = 420, H = 410, L = 58, B = 40, T = 80, R = 14, host = byId("plane");
    const points = found.filter((m) => m.levels && m.levels[q] !== null && (alone || m.levels[other] !== null))
      .map((m) => ({ m, a: shownValue(q, m.levels[q]), b: alone ? 0 : shownValue(other, m.levels[other]) }));
    byId("plane-note").textContent = alone ? "Histogram of the machines' values, mean over their periods."
      : "One dot per machine, mean over its periods; the ellipse contains 90 % of a healthy fleet. Above: histogram.";
    if (!points.length) return void (host.innerHTML = "");
    const across = scale(q, points.map((p) => p.a)), up = alone ? null : scale(other, points.map((p) => p.b));
    const x = (v) => L + (v - across.low) / (across.high - across.low) * (W - L - R);
    const y = alone ? () => H - B - 6 : (v) => T + (up.high - v) / (up.high - up.low) * (H - T - B);
    const clamp = (v, axis) => Math.min(Math.max(v, axis.low), axis.high);
    const ends = `<line x1="${L}" x2="${W - R}" y1="${H - B}" y2="${H - B}" stroke="var(--measured)"/>` + across.ticks.map((v) => `<text x="${x(v)}" y="${H - B + 16}" text-anchor="middle">${number(v)}</text>`).join("")
      + (alone ? "" : up.ticks.map((v) => `<text x="${L - 6}" y="${y(v) + 4}" text-anchor="end">${number(v)}</text><line x1="${L}" x2="${W - R}" y1="${y(v)}" y2="${y(v)}" stroke="var(--line)"/>`).join(""));
    const bars = alone ? histogram(points.map((p) => p.a), across, x, H - B - 14, H - B - 40) : histogram(points.map((p) => p.a), across, x, T - 28, 44);
    const k = Math.sqrt(4.605);
    const ellipse = alone ? "" : `<ellipse cx="${x(across.middle)}" cy="${y(up.middle)}" rx="${k * (x(across.spread) - x(0))}" ry="${k * (y(0) - y(up.spread))}" fill="none" stroke="var(--ink)" stroke-width="1.3" stroke-dasharray="5 3"/>`;
    const colour = { act: "var(--bad)", watch: "var(--amber)", healthy: "var(--measured)", silent: "var(--measured)" };
    const order = { healthy: 0, silent: 1, watch: 2, act: 3 };
    points.sort((p, r) => order[p.m.state] - order[r.m.state]);
    const named = new Set(points.filter((p) => order[p.m.state] > 1).slice(-10).map((p) => p.m.name)), places = [];
    const dots = points.map(({ m, a, b }) => {
      const cx = x(clamp(a, across)), cy = alone ? y() : y(clamp(b, up)), loud = order[m.state] > 1;
      const dot = `<circle cx="${cx.toFixed(1)}" cy="${cy.toFixed(1)}" r="${loud ? 4 : 2}" fill="${colour[m.state]}" fill-opacity="${loud ? 1 : 0.55}"><title>${safe(m.name)}</title></circle>`;
      if (!named.has(m.name)) return dot;
      const away = [a !== clamp(a, across) ? number(a) : "", up && b !== clamp(b, up) ? number(b) : ""].filter(Boolean).join(", ");
      const text = m.name + (away ? ` at ${away}` : ""), left = cx > W - 30 - 6 * text.length;
      let line = alone ? cy - 10 : cy + 4;
      while (places.some(([px, py]) => Math.abs(px - cx) < 90 && Math.abs(py - line) < 11)) line -= 11;
      places.push([cx, line]);
      return `${dot}<text x="${cx + (left ? -7 : 7)}" y="${line.toFixed(1)}" text-anchor="${left ? "end" : "start"}" class="named">${safe(text)}</text>`;
    }).join("");
    host.innerHTML = `<svg viewBox="0 0 ${W} ${H}" role="img" aria-label="Machines by their figures">${ends}${bars}${dots}${ellipse}
      <text x="${W - R}" y="${H - 6}" text-anchor="end">${safe(data.quantities[q].name)} →</text>${alone ? "" : `<text x="0" y="${T - 10}">↑ ${safe(data.quantities[other].name)}</text>`}</svg>`;
  }

  const COLUMNS = () => {
    const q = view.quantity, unit = data.quantities[q].relative ? "%" : "% of spread";
    return [["name", "Machine", (m) => m.name], ...data.labels.map((label) => [`label ${label}`, label, (m) => m.labels[label] || ""]),
      ["rank", "State", (m) => m.rank], ["now", `${data.quantities[q].name} now`, (m) => m.levels ? last(m, q) : null],
      ["drift", `Drift, ${unit} a ${data.unit}`, (m) => m.drift ? m.drift[q] : null], ["against", "Against the fleet, σ", (m) => m.against ? m.against[q] : null],
      ["health", "Unexplained rate", (m) => m.health], ["", `${data.periods.length} ${data.periods.length === 1 ? "period" : "periods"}`, null], ["why", "Reason", (m) => m.reasons.join("; ")]];
  };
  const last = (m, q) => { const known = m.values[q].filter((v) => v !== null); return known.length ? shownValue(q, known[known.length - 1]) : null; };

  // Unexplained rate relative to the largest of the fleet; coloured if the machine is flagged for it.
  const largest = Math.max(...data.machines.map((m) => m.health || 0), 1e-12);
  const bar = (m) => m.health === null ? "" : `<span class="health${m.unexplained ? ` s-${m.state}` : ""}"><i style="width:${(100 * m.health / largest).toFixed(1)}%"></i></span>`;

  function table(found) {
    const columns = COLUMNS(), q = view.quantity;
    const column = columns.find(([key]) => key === view.sort) || columns[1], read = column[2];
    const sorted = [...found].sort((a, b) => {
      const [u, v] = [read(a), read(b)];
      if (u === null || v === null) return (u === null) - (v === null);
      const order = typeof u === "string" ? u.localeCompare(v, undefined, { numeric: true }) : u - v;
      return (view.down ? -order : order) || a.rank - b.rank;
    });
    const numeric = new Set(["now", "drift", "against", "health"]);
    document.querySelector("#machines thead tr").innerHTML = columns.map(([key, word]) => key
      ? `<th class="${numeric.has(key) ? "n" : ""}"${key === view.sort ? ` aria-sort="${view.down ? "descending" : "ascending"}"` : ""}><button type="button" data-sort="${safe(key)}">${safe(word)}${key === view.sort ? (view.down ? " ↓" : " ↑") : ""}</button></th>`
      : `<th>${safe(word)}</th>`).join("");
    view.page = Math.max(0, Math.min(view.page, Math.ceil(sorted.length / ROWS) - 1));
    const first = view.page * ROWS, shown = sorted.slice(first, first + ROWS);
    document.querySelector("#machines tbody").innerHTML = shown.map((m) => `<tr><td><button type="button" class="open" data-machine="${safe(m.name)}">${safe(m.name)}</button></td>
      ${data.labels.map((label) => `<td>${safe(m.labels[label] || "")}</td>`).join("")}<td>${badge(m.state)}</td>
      <td class="n" data-name="now">${m.levels ? number(last(m, q)) : "–"}</td><td class="n" data-name="drift">${m.drift ? signed(m.drift[q]) : "–"}</td>
      <td class="n" data-name="σ from the fleet">${m.against ? signed(m.against[q]) : "–"}</td><td class="n" data-name="unexplained rate">${bar(m)}<span class="digits">${number(m.health, 2)}</span></td>
      <td class="spark">${m.values.length ? trend(q, m.values[q], { width: 120, height: 30, axis: false }) : ""}</td><td class="why">${safe(m.reasons.join("; ") || "–")}</td></tr>`).join("");
    byId("range").textContent = sorted.length ? `${first + 1}–${first + shown.length} of ${sorted.length.toLocaleString("en")}` : "no machine matches";
    byId("previous").disabled = !first; byId("next").disabled = first + ROWS >= sorted.length;
    byId("count").textContent = `${found.length.toLocaleString("en")} of ${data.machines.length.toLocaleString("en")} machines shown`;
  }

  // A path quoted for a shell.
  const quoted = (path) => /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replace(/'/g, "'\\''")}'`;

  function detail(name) {
    const m = data.machines.find((entry) => entry.name === name);
    const plots = m.values.map((values, q) => `<div><h3>${safe(data.quantities[q].name)}</h3>${trend(q, values, { width: 250, height: 140, axis: true })}</div>`).join("");
    const report = !m.model ? "" : m.report ? `<p><a href="${safe(m.report.split("/").map(encodeURIComponent).join("/"))}">Report of the latest fit</a></p>`
      : `<p>Report of the latest fit, made on demand:</p><pre>tinyude report ${safe(quoted(data.folder + m.model))} --out ${safe(m.name.replace(/[^\w.-]+/g, "_"))}.html</pre>`;
    document.querySelector("#detail div").innerHTML = `<h2>${safe(m.name)} ${badge(m.state)}</h2>${m.reasons.map((r) => `<p>${safe(r)}</p>`).join("")}
      ${Object.entries(m.labels).map(([k, v]) => `<p class="note">${safe(k)}: ${safe(v)}</p>`).join("")}${report}<div class="details">${plots}</div>`;
    byId("detail").showModal();
  }

  function draw() { const found = matches(); tiles(); cards(found); plane(found); table(found); }

  byId("quantity").innerHTML = data.quantities.map((q, n) => `<option value="${n}">${safe(q.name)}</option>`).join("");
  byId("quantity").value = view.quantity;
  byId("labels").innerHTML = data.labels.map((label) => `<label>${safe(label)} <select data-label="${safe(label)}"><option value="">All</option>${
    [...new Set(data.machines.map((m) => m.labels[label]).filter(Boolean))].sort().map((v) => `<option>${safe(v)}</option>`).join("")}</select></label>`).join(" ");
  document.addEventListener("click", (event) => {
    const hit = event.target.closest("button");
    if (!hit) return;
    if (hit.dataset.machine) return detail(hit.dataset.machine);
    if (hit.dataset.state) { view.state = view.state === hit.dataset.state ? "" : hit.dataset.state; view.page = 0; }
    else if (hit.dataset.sort) { view.down = view.sort === hit.dataset.sort ? !view.down : false; view.sort = hit.dataset.sort; view.page = 0; }
    else if (hit.id === "previous") view.page--;
    else if (hit.id === "next") view.page++;
    else if (hit.id === "theme") {
      const root = document.documentElement.dataset;
      const dark = root.theme ? root.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.theme = dark ? "light" : "dark";
      return;
    } else return;
    draw();
  });
  byId("quantity").addEventListener("change", (event) => { view.quantity = +event.target.value; draw(); });
  byId("find").addEventListener("input", (event) => { view.find = event.target.value.trim().toLowerCase(); view.page = 0; draw(); });
  byId("labels").addEventListener("change", (event) => { view.labels[event.target.dataset.label] = event.target.value; view.page = 0; draw(); });
  draw();
})();
