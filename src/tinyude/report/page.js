"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement, charts = [];
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const sync = { key: "run" };

  function axes(log, gutter) {
    const one = { stroke: () => colour("--soft"), grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    return [{ ...one, size: 28, values: (u, v) => v.map((x) => x === null ? "" : x + " s") }, { ...one, size: gutter || 52, ...(log ? { splits: (u, i, low, high) => decades(low, high), values: (u, v) => v.map((x) => x === null ? "" : Number(x.toPrecision(2)) + " %") } : {}) }];
  }
  function decades(low, high) {
    const found = [];
    for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.log10(high) + 1e-9; p++) found.push(10 ** p);
    return found;
  }
  function line(label, name, width, dash) {
    return { label, stroke: () => colour(name), width, dash, points: { show: false }, value: (u, v) => v == null ? "–" : Number(v.toPrecision(4)) };
  }
  function shade(spans) {
    return { hooks: { drawClear: [(u) => {
      u.ctx.save(); u.ctx.fillStyle = colour("--amber-fill"); u.ctx.globalAlpha = 0.45;
      for (const [a, b] of spans) {
        const x0 = Math.max(u.valToPos(a, "x", true), u.bbox.left), x1 = Math.min(u.valToPos(b, "x", true), u.bbox.left + u.bbox.width);
        if (x1 > x0) u.ctx.fillRect(x0, u.bbox.top, Math.max(x1 - x0, 2), u.bbox.height);
      }
      u.ctx.restore();
    }] } };
  }
  function lanes(rows) { // rejected windows as rows below the plot, on its time axis
    const place = (u) => {
      for (const track of document.querySelectorAll(".track")) {
        const left = u.bbox.left / devicePixelRatio, width = u.bbox.width / devicePixelRatio;
        track.style.marginLeft = left + "px"; track.style.width = width + "px"; track.replaceChildren();
        for (const [a, b] of rows[Number(track.dataset.lane)].spans) {
          const mark = document.createElement("i"), x = u.valToPos(a, "x");
          mark.style.left = Math.max(x - 1.5, 0) + "px"; mark.style.width = u.valToPos(b, "x") - x + "px";
          if (u.valToPos(b, "x") >= 0 && x <= width) track.append(mark);
        }
      }
    };
    return { hooks: { draw: [place] } };
  }
  function draw(place, title, x, columns, series, options) {
    const live = (u) => u.root.classList.toggle("live", u.cursor.idx != null); // values are shown next to the title while the cursor is on the plot
    const chart = new uPlot({
      title, width: place.clientWidth, height: options.height, series: [{ label: "t", value: (u, v) => v == null ? "–" : Number(v.toPrecision(5)) + " s" }, ...series],
      scales: { x: { time: false }, y: options.log ? { distr: 3 } : {} }, axes: axes(options.log, options.gutter), plugins: [shade(options.spans || []), { hooks: { setCursor: [live] } }, ...(options.plugins || [])],
      cursor: { sync, drag: { x: true, y: false } }, legend: { live: true },
    }, [x, ...columns], place);
    charts.push([chart, place, options.height]);
  }
  for (const place of document.querySelectorAll(".plot")) {
    const kind = place.dataset.plot, index = Number(place.dataset.signal || 0);
    if (kind === "run") {
      const run = data.free_run, s = run.signals[index];
      draw(place, s.name, run.t, [s.measured, s.model, s.known], [line(run.reference_name, "--measured", 4), line("model", "--model", 1.8), line("known alone", "--known", 1.6, [10, 8])], { height: run.signals.length > 1 ? 170 : 220, spans: run.outside });
    } else if (kind === "error") {
      const run = data.free_run;
      draw(place, "error, % of the spread (dotted: sensor noise)", run.t, [run.error, run.known_error, run.t.map(() => run.noise)], [line("model", "--model", 1.6), line("known alone", "--known", 1.4, [10, 8]), line("noise", "--measured", 1.4, [2, 3])], { height: 120, log: true, spans: run.outside });
    } else {
      const record = data.record, s = record.signals[index];
      const spans = record.rejected.flatMap((row) => row.spans);
      draw(place, s.name, record.t, [s.values], [line("value", s.input ? "--amber" : "--measured", 1.2)], { height: 110, spans, gutter: innerWidth > 560 ? 130 : 52, plugins: index ? [] : [lanes(record.rejected)] });
    }
  }
  addEventListener("resize", () => { for (const [chart, place, height] of charts) chart.setSize({ width: place.clientWidth, height }); });
  const redraw = () => { for (const [chart] of charts) chart.redraw(false, true); };
  document.getElementById("theme").onclick = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark"; redraw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  for (const tab of document.querySelectorAll(".tabs button")) tab.onclick = () => {
    for (const other of document.querySelectorAll(".tabs button")) other.setAttribute("aria-selected", String(other === tab));
    for (const slice of document.querySelectorAll(".slice")) slice.hidden = slice.dataset.slice !== tab.dataset.slice;
  };
  const copy = document.getElementById("copy");
  if (copy) copy.onclick = () => { navigator.clipboard.writeText(copy.previousElementSibling.textContent); copy.textContent = "Copied"; };
})();
