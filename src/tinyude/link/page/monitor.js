"use strict";
/* Draws the monitor's stream: samples, current state, trends. */
const SECONDS = 20, LOST = 5, WORDS = {good: "✓", watch: "▲", bad: "✖", note: "•"};
const token = new URLSearchParams(location.search).get("token") || "";
const $ = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let facts = {channels: [], inputs: [], watch: 1.3, wrong: 2}, rows = [], plots = {}, changes = [], told = null, paused = false;

function size(host, height) { return {width: Math.max(host.clientWidth, 200), height}; }

const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400]; // s, steps that a label can show
const CLOCK_SPACE = 80; // px, wider than a label

function clock(seconds) { return new Date(1e3 * seconds).toTimeString().slice(0, 8); }

function chart(id, height, series, options = {}) {
  const host = $(id);
  const axis = {stroke: css("--quiet"), grid: {stroke: css("--edge"), width: 1}, ticks: {show: false}, font: "12px sans-serif"};
  const made = new uPlot({
    ...size(host, height), series: [{}, ...series], cursor: {drag: {x: true, y: false}, sync: options.sync ? {key: "now"} : undefined},
    scales: {x: {time: !!options.time}, y: options.scale || {}},
    axes: [{...axis, size: 28, ...(options.time ? {space: CLOCK_SPACE, incrs: CLOCK_STEPS} : {}), values: options.time ? (_, at) => at.map(clock) : (_, at) => at.map((v) => v === 0 ? "now" : `${v} s`)}, {...axis, size: 52, splits: options.splits, filter: (_, at) => at}],
    padding: [8, 14, 0, 0], hooks: options.hooks || {}, legend: {show: false}}, [[], ...series.map(() => [])], host);
  made.host = host; made.height0 = height;
  return plots[id] = made;
}

function remake() {
  for (const id of Object.keys(plots)) plots[id].destroy();
  plots = {};
  $("terms").replaceChildren();
  $("streams").replaceChildren(...facts.channels.map((name, i) => holder(`stream${i}`, name)));
  $("inputs").replaceChildren(...facts.inputs.map((name, i) => holder(`input${i}`, `Input ${name}`)));
  facts.channels.forEach((_, i) => chart(`stream${i}`, facts.channels.length > 2 ? 110 : 170,
    [{stroke: css("--grey"), width: 4}, {stroke: css("--blue"), width: 1.6}], {sync: true}));
  const points = facts.channels.map(() => ({stroke: css("--blue"), paths: () => null, points: {show: true, size: 3, fill: css("--blue")}}));
  chart("innovation", 90, points, {sync: true, scale: {range: [-5, 5]}, splits: () => [-3, 0, 3], hooks: {draw: [(u) => dashed(u, [3, -3])]}});
  facts.inputs.forEach((_, i) => chart(`input${i}`, 80, [{stroke: css("--ink"), width: 1.2}], {sync: true}));
  chart("trend", 150, [{stroke: css("--blue"), width: 1.6, points: {show: false}}],
    {time: true, scale: {distr: 3, range: [0.5, 5]}, splits: () => [0.5, 1, 2, 4], hooks: {drawAxes: [bands], draw: [(u) => dashed(u, [1]), marks]}});
  if (told) takeTrends(told);
}

function holder(id, title) {
  const box = document.createElement("div"), label = document.createElement("p");
  label.className = "quiet small"; label.textContent = title;
  const host = document.createElement("div"); host.id = id;
  box.append(label, host);
  return box;
}

function dashed(u, levels) {
  const ctx = u.ctx; ctx.save(); ctx.strokeStyle = css("--quiet"); ctx.setLineDash([4, 4]); ctx.beginPath();
  for (const level of levels) { const y = u.valToPos(level, "y", true); ctx.moveTo(u.bbox.left, y); ctx.lineTo(u.bbox.left + u.bbox.width, y); }
  ctx.stroke(); ctx.restore();
}

/* A vertical line at each change of the dynamics. */
function marks(u) {
  const ctx = u.ctx, {left, top, width, height} = u.bbox; ctx.save();
  ctx.strokeStyle = ctx.fillStyle = css("--watch"); ctx.textAlign = "right"; ctx.setLineDash([4, 3]);
  for (const x of changes.map((at) => u.valToPos(at, "x", true)).filter((x) => x > left && x < left + width)) {
    ctx.beginPath(); ctx.moveTo(x, top); ctx.lineTo(x, top + height); ctx.stroke();
    ctx.fillText("change", x - 4 * devicePixelRatio, top + 12 * devicePixelRatio);
  }
  ctx.restore();
}

function bands(u) {
  const ctx = u.ctx, {left, top, width, height} = u.bbox, at = (v) => Math.min(Math.max(u.valToPos(v, "y", true), top), top + height);
  const edges = [[0.5, facts.watch, "--good-bg"], [facts.watch, facts.wrong, "--watch-bg"], [facts.wrong, 5, "--bad-bg"]];
  ctx.save();
  for (const [low, high, colour] of edges) { ctx.fillStyle = css(colour); ctx.fillRect(left, at(high), width, at(low) - at(high)); }
  ctx.restore();
}

/* Many lost rows in succession are a gap, drawn as none: null ends a line, undefined does not. */
function takeRows(message) {
  const nothing = (columns) => columns.map(() => null);
  message.t.forEach((t, i) => {
    const before = rows.length ? rows[rows.length - 1].t : t;
    if (t - before > LOST / facts.row_rate) rows.push({t: before + 1 / facts.row_rate, y: nothing(message.measured), p: nothing(message.measured), e: nothing(message.measured), u: nothing(message.inputs)});
    rows.push({t, y: message.measured.map((c) => c[i]), p: message.predicted.map((c) => c[i] ?? undefined),
      e: message.innovation.map((c) => c[i]), u: message.inputs.map((c) => c[i])}); });
  if (!rows.length) return;
  const now = rows[rows.length - 1].t;
  rows = rows.filter((row) => row.t > now - SECONDS && row.t <= now);
  if (paused) return;
  const x = rows.map((row) => row.t - now);
  facts.channels.forEach((_, i) => plots[`stream${i}`]?.setData([x, rows.map((r) => r.y[i]), rows.map((r) => r.p[i])]));
  plots.innovation?.setData([x, ...facts.channels.map((_, i) => rows.map((r) => r.e[i]))]);
  facts.inputs.forEach((_, i) => plots[`input${i}`]?.setData([x, rows.map((r) => r.u[i])]));
}

function number(value, digits = 3) { return value == null ? "–" : Number(value).toPrecision(digits); }
function chip(node, level, text) { node.className = `chip ${level}`; node.textContent = `${WORDS[level] || "•"} ${text}`; }

/* Position of a health value on its scale, from 0.5 to 4. */
function place(health) { return `${100 / 3 * Math.log2(Math.min(Math.max(health, 0.5), 4) / 0.5)}%`; }

function makeScale() {
  const part = (level, low, high) => { const i = document.createElement("i"); i.className = level; i.style.width = `calc(${place(high)} - ${place(low)})`; return i; };
  const label = (health) => { const span = document.createElement("span"); span.style.left = place(health); span.textContent = health; return span; };
  const needle = document.createElement("b"); needle.id = "needle";
  $("scale").replaceChildren(part("good", 0.5, facts.watch), part("watch", facts.watch, facts.wrong), part("bad", facts.wrong, 4),
    needle, ...[1, facts.watch, facts.wrong].map(label));
}

function takeStatus(s) {
  chip($("link"), s.connected ? "good" : "bad", s.connected ? "Connected" : "Link lost");
  chip($("level"), s.level, s.word);
  $("ratio").textContent = number(s.worst);
  $("needle").style.left = place(s.worst || 0.5);
  $("sensors").textContent = Object.keys(s.sensors).length ? `Sensors: ${Object.keys(s.sensors).join(", ")}.` : "";
  $("recording").textContent = s.recording == null ? "" : `● recording, ${s.recording.toLocaleString("en")} rows`;
  const c = s.counters, lines = [["samples", c.samples], ["lost before the learner", c.lost], ["frames damaged on the link", s.damaged],
    ["windows accepted", c.accepted], ["windows rejected", c.windows - c.accepted],
    ...Object.entries(s.rejected).map(([name, n]) => [name, n, "sub"]), ["updates", c.updates], ["changes", c.changes], ["states saved", c.saves]];
  $("counters").replaceChildren(...lines.flatMap(([name, value, kind]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name; dt.className = kind || ""; dd.textContent = value == null || Number.isNaN(value) ? "–" : value.toLocaleString("en");
    return [dt, dd]; }));
  changes = s.events.filter((event) => event.title === "Change detected").map((event) => event.at);
  $("events").replaceChildren(...s.events.slice().reverse().map((event) => {
    const li = document.createElement("li"), time = document.createElement("time"), icon = document.createElement("i"), text = document.createElement("span"), small = document.createElement("small");
    li.className = event.level; time.textContent = new Date(1000 * event.at).toTimeString().slice(0, 5);
    icon.textContent = WORDS[event.level]; text.textContent = event.title; small.textContent = event.detail;
    text.append(small); li.append(time, icon, text);
    return li; }));
  s.equation.forEach((term) => {
    const shown = document.querySelector(`[data-term="${CSS.escape(term.name)}"]`);
    if (shown) shown.querySelector("b").textContent = number(term.value, 4), shown.querySelector("small").textContent = ` ± ${number(term.half, 2)}`;
  });
}

function takeTrends(t) {
  told = t;
  plots.trend?.setData([t.health_at, t.health]);
  const names = t.coefficients.map((c) => c.name);
  const boxes = [...document.querySelectorAll("[data-term]")].map((box) => box.dataset.term);
  if (names.join("\n") !== boxes.join("\n")) {
    for (const id of Object.keys(plots)) if (id.startsWith("term")) { plots[id].destroy(); delete plots[id]; }
    $("terms").replaceChildren(...t.coefficients.map((c, i) => {
      const box = holder(`term${i}`, c.name), line = document.createElement("div"), b = document.createElement("b"), small = document.createElement("small");
      box.dataset.term = c.name; line.append(b, small); box.insertBefore(line, box.lastChild);
      return box; }));
    t.coefficients.forEach((_, i) => chart(`term${i}`, 110, [{stroke: "transparent", points: {show: false}}, {stroke: "transparent", points: {show: false}}, {stroke: css("--blue"), width: 1.6, points: {show: false}}], {time: true, hooks: {draw: [marks]}}));
    t.coefficients.forEach((_, i) => plots[`term${i}`].addBand({series: [2, 1], fill: css("--blue") + "33"}));
  }
  t.coefficients.forEach((c, i) => plots[`term${i}`]?.setData([t.terms_at, c.low, c.high, c.value]));
}

function takeHello(message) {
  facts = message;
  rows = [];
  $("board").textContent = message.board;
  document.title = `${message.board} live - TinyUDE`;
  $("facts").textContent = `${message.source} · states ${message.states.join(", ") || "not received yet"}`;
  $("rate").textContent = message.rate ? `${+message.rate.toPrecision(4)} Hz, drawn at ${+message.row_rate.toPrecision(3)} Hz · pause by hovering` : "";
  makeScale();
  remake();
}

const TAKE = {hello: takeHello, rows: takeRows, status: takeStatus, trends: takeTrends};

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const socket = new WebSocket(`${scheme}://${location.host}/live?token=${encodeURIComponent(token)}`);
  socket.onmessage = (event) => { const message = JSON.parse(event.data); TAKE[message.kind](message); };
  socket.onclose = () => { chip($("link"), "bad", "Monitor stopped"); setTimeout(connect, 2000); };
}

function say(text, level) { const box = $("answer"); box.hidden = false; box.className = level; box.textContent = text; }

async function ask(path, options = {}) {
  const answer = await fetch(path, {...options, headers: {"X-TinyUDE-Token": token}});
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error || answer.statusText);
  return told;
}

async function command(path, options, done) {
  try { const told = await ask(path, options); done(told); } catch (error) { say(error.message, "bad"); }
}

$("save").onclick = () => command("/save", {method: "POST"}, () => say("The board saves its state.", "good"));
$("fetch").onclick = () => command("/model", {}, (model) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(model, null, 1)], {type: "application/json"}));
  link.download = `${model.board}.json`; link.click(); URL.revokeObjectURL(link.href);
  say(`Model downloaded: ${model.numbers.length} numbers.`, "good");
});
$("file").onchange = async () => {
  const file = $("file").files[0];
  if (file) await command("/model", {method: "POST", body: await file.arrayBuffer()}, (told) => say(`Model sent: ${told.sent} numbers; the board continues from it.`, "good"));
  $("file").value = "";
};
$("streams").onmouseenter = () => { paused = true; };
$("streams").onmouseleave = () => { paused = false; };
$("theme").onclick = () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  const kept = rows; remake(); rows = kept;
};
new ResizeObserver(() => { for (const p of Object.values(plots)) p.setSize(size(p.host, p.height0)); }).observe(document.body);
makeScale();
connect();
