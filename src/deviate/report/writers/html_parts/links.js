"use strict";
/* What charts share: the run that is chosen, the variants that are hidden, and what is shown of each curve. */
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const state = { chosen: "", off: [] };
  const views = new Map();
  const settings = new WeakMap();
  let redraw = () => {};

  const layersOf = (view) => (view.layer ? view.layer.flatMap(layersOf) : [view]);
  const rowsOf = (spec, layer) => spec.datasets[layer.data.name] || [];
  const ofRuns = (spec, layer) =>
    "run" in (rowsOf(spec, layer)[0] || {}) || (layer.transform || []).some((each) => each.as === "run");

  /* A run that is chosen is drawn once more, in the colour of text. */
  const LOOKS = { line: { strokeWidth: 3 }, point: { size: 180, strokeWidth: 2.5, filled: false }, bar: { filled: false, strokeWidth: 2.5 } };

  const chosenOf = ({ params, ...layer }, ink) => {
    const { color, opacity, strokeWidth, strokeDash, ...encoding } = layer.encoding;
    return {
      ...layer,
      transform: [...(layer.transform || []), { filter: "datum.run === chosen" }],
      mark: { ...layer.mark, ...LOOKS[layer.mark.type], color: ink, opacity: 1, strokeDash: [1, 0] },
      encoding,
    };
  };

  const withChosen = (spec, view, ink) => {
    if (!view.layer) return;
    const marked = view.layer.filter((each) => !each.layer && each.mark.type in LOOKS && ofRuns(spec, each));
    view.layer.forEach((each) => withChosen(spec, each, ink));
    view.layer.push(...marked.map((each) => chosenOf(each, ink)));
  };

  /* Curves: the whole training or its second half, on a linear or a logarithmic axis. */
  const finite = (values) => values.filter((value) => Number.isFinite(value));
  const ends = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  const padded = ([low, high]) => [low - 0.04 * (high - low || 1), high + 0.04 * (high - low || 1)];

  const extentOf = (spec) => {
    const runs = spec.datasets.runs || [];
    const iterations = ends(runs.flatMap((run) => run.iteration));
    const middle = (iterations[0] + iterations[1]) / 2;
    const late = runs.flatMap((run) => run.value.filter((_, place) => run.iteration[place] >= middle));
    const whole = ends(finite(runs.flatMap((run) => run.value)));
    /* A run that has not come as far has nothing to show in the second half. */
    const behind = runs.some((run) => ends(run.iteration)[1] <= middle);
    return { iterations, middle, whole, late: ends(finite(late)), behind, positive: whole[0] > 0 };
  };

  /* From so many iterations on a training has a second half, which is shown first. */
  const HALVED_FROM = 6;

  const firstLook = (spec, extent) => {
    const log = layersOf(spec).some((layer) => layer.encoding.y?.scale?.type === "log");
    const halved = extent.iterations[1] - extent.iterations[0] >= HALVED_FROM && extent.late[1] > extent.late[0];
    return { halved, log, half: halved && !log && !extent.behind, logged: log };
  };

  const axis = (y, extent, look) => {
    const { values, format, ...rest } = y.axis || {};
    const [low, high] = look.half ? extent.late : extent.whole;
    const log = look.log && extent.positive;
    return {
      ...y,
      title: y.title.replace(/ \(log scale\)|, log scale/, ""),
      axis: { ...rest, ...(log === look.logged && format && !look.half ? y.axis : { format: log ? "~g" : format }) },
      scale: { type: log ? "log" : "linear", nice: false, ...(log ? {} : { zero: false }), domain: log ? [low, high] : padded([low, high]) },
    };
  };

  const looked = (spec, look) => {
    const extent = extentOf(spec);
    for (const layer of layersOf(spec)) {
      const { x, y } = layer.encoding;
      if (look.half) layer.mark.clip = true;
      if (x) x.scale = { ...x.scale, domain: look.half ? [extent.middle, extent.iterations[1]] : extent.iterations };
      if (y?.title) layer.encoding.y = axis(y, extent, look);
    }
  };

  const isCurve = (chart) => chart.dataset.section === "curves";

  /* Return a chart with what the reader has chosen, and make its controls where it has none. */
  const prepared = (chart, spec, theme) => {
    const legend = layersOf(spec).map((layer) => layer.encoding.color).find((color) => color?.legend?.values);
    const dash = layersOf(spec).map((layer) => layer.encoding.strokeDash).find((each) => each?.legend?.values);
    if (!settings.has(chart)) settings.set(chart, isCurve(chart) ? firstLook(spec, extentOf(spec)) : {});
    if (!chart.previousElementSibling.matches(".controls")) addControls(chart, spec, settings.get(chart), legend, dash, theme);
    if (isCurve(chart)) looked(spec, settings.get(chart));
    for (const layer of layersOf(spec)) {
      layer.transform = [{ filter: "indexof(off, datum.variant) < 0" }, ...(layer.transform || [])];
      for (const name of legend ? ["color", "strokeDash"] : []) {
        if (layer.encoding[name]) layer.encoding[name].legend = null;
      }
    }
    withChosen(spec, spec, theme.text.color);
    spec.params = [{ name: "chosen", value: state.chosen }, { name: "off", value: state.off }];
    colourKeys(chart, theme);
    return spec;
  };

  /* Controls above a chart: variants, scale, part, run. */
  const toggle = (label, pressed, change) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.setAttribute("aria-pressed", pressed);
    button.addEventListener("click", () => change(button));
    return button;
  };

  const SVG = "http://www.w3.org/2000/svg";

  const keyOf = (legend, dash, name) => {
    const place = legend.scale.domain.indexOf(name);
    const key = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "line");
    for (const [what, value] of Object.entries({ viewBox: "0 0 24 8", width: 24, height: 8, "aria-hidden": true })) key.setAttribute(what, value);
    for (const [what, value] of Object.entries({ x1: 0, x2: 24, y1: 4, y2: 4, "stroke-width": 2.5 })) line.setAttribute(what, value);
    if (dash) line.setAttribute("stroke-dasharray", dash.scale.range[place].join(" "));
    line.dataset.place = place;
    key.append(line);
    return key;
  };

  const colourKeys = (chart, theme) => {
    const colours = theme.range.category;
    const controls = chart.previousElementSibling;
    for (const line of all(".controls line[data-place]", controls?.parentElement || chart)) {
      line.setAttribute("stroke", colours[line.dataset.place % colours.length]);
    }
  };

  const variantToggle = (name, legend, dash) => {
    const button = toggle(name, !state.off.includes(name), () => hide(name));
    button.dataset.variant = name;
    button.prepend(keyOf(legend, dash, name));
    return button;
  };

  const lookToggle = (label, chart, look, name) =>
    toggle(label, look[name], (button) => {
      look[name] = !look[name];
      button.setAttribute("aria-pressed", look[name]);
      redraw(chart);
    });

  const runPicker = (names, what) => {
    const label = document.createElement("label");
    const select = document.createElement("select");
    select.className = "runs";
    for (const name of ["", ...names]) select.add(new Option(name || "none", name));
    select.value = state.chosen;
    select.addEventListener("change", () => choose(select.value));
    label.append(`${what} `, select);
    return label;
  };

  const namesOf = (spec) => {
    const layer = layersOf(spec).find((each) => each.mark.type in LOOKS && ofRuns(spec, each));
    if (!layer) return [];
    const rows = rowsOf(spec, layer);
    const calculated = (row) => row.index.map((index) => `${row.typed || row.kind || row.variant}-${index}`);
    return [...new Set(rows.flatMap((row) => ("run" in row ? [row.run] : calculated(row))))];
  };

  const addControls = (chart, spec, look, legend, dash, theme) => {
    const names = namesOf(spec);
    const made = [
      ...(legend ? legend.legend.values.map((name) => variantToggle(name, legend, dash)) : []),
      ...(look.halved ? [lookToggle("Second half only", chart, look, "half")] : []),
      ...(isCurve(chart) && extentOf(spec).positive ? [lookToggle("Log scale", chart, look, "log")] : []),
      ...(names.length > 1 ? [runPicker(names, chart.dataset.section === "grid" ? "Cell" : "Run")] : []),
    ];
    if (!made.length) return;
    const controls = document.createElement("div");
    controls.className = "controls";
    controls.setAttribute("role", "group");
    controls.setAttribute("aria-label", `What is shown of: ${chart.getAttribute("aria-label")}`);
    controls.append(...made);
    chart.before(controls);
  };

  /* One choice for all charts. */
  const signal = (name) => {
    for (const view of views.values()) view.signal(name, state[name]).runAsync();
  };

  const hide = (name) => {
    state.off = state.off.includes(name) ? state.off.filter((each) => each !== name) : [...state.off, name];
    for (const button of all(".controls button[data-variant]")) button.setAttribute("aria-pressed", !state.off.includes(button.dataset.variant));
    signal("off");
  };

  const choose = (name) => {
    state.chosen = name;
    for (const select of all(".controls select.runs")) {
      select.value = [...select.options].some((option) => option.value === name) ? name : "";
    }
    signal("chosen");
    showRun(name);
  };

  /* The panel of the run that is chosen. */
  const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

  const showRun = (name) => {
    const panel = document.getElementById("chosen-run");
    const card = (JSON.parse(document.getElementById("run-cards")?.textContent || "{}") || {})[name];
    panel.hidden = !name;
    document.body.classList.toggle("with-run", Boolean(name));
    if (!name) return;
    const close = toggle("Close", false, () => choose(""));
    close.removeAttribute("aria-pressed");
    const head = document.createElement("div");
    head.className = "run-head";
    head.append(element("h2", name), close);
    const list = document.createElement("dl");
    for (const [term, said] of card?.facts || []) list.append(element("dt", term), element("dd", said));
    const log = element("pre", (card?.lines || []).join("\n"));
    log.tabIndex = 0;
    panel.replaceChildren(head, list, ...(card?.lines.length ? [element("p", "Last lines of its log"), log] : []));
  };

  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && state.chosen) choose("");
  });

  const attach = (chart, view) => {
    views.set(chart, view);
    view.addEventListener("click", (_, item) => {
      const run = item?.datum?.run;
      if (run) choose(run === state.chosen ? "" : run);
    });
  };

  const release = (chart) => {
    views.get(chart)?.finalize();
    views.delete(chart);
  };

  /* Draw a chart anew when it is seen, with other data; what the reader has chosen stays. */
  const again = (chart) => delete chart.dataset.theme;

  window.deviate = { all, links: { again, attach, charts: () => [...views.keys()], prepared, release, whenChanged: (work) => (redraw = work) } };
})();
