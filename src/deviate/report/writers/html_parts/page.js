"use strict";
(() => {
  const { all, links } = window.deviate;
  const root = document.documentElement;

  /* Tables: a button in each head sorts by its column. */
  const valueOf = (row, place, numeric) => {
    const cell = row.cells[place];
    if (!numeric) return cell.textContent.trim();
    return "value" in cell.dataset ? Number(cell.dataset.value) : null;
  };

  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
    return sign * order;
  };

  const sort = (table, head) => {
    const numeric = head.classList.contains("number");
    const first = numeric ? "descending" : "ascending";
    const second = numeric ? "ascending" : "descending";
    const direction = head.getAttribute("aria-sort") === first ? second : first;
    all("th[aria-sort]", table.tHead).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => [valueOf(row, head.cellIndex, numeric), row]);
    keyed.sort((one, other) => compare(one[0], other[0], sign));
    body.append(...keyed.map(([, row]) => row));
  };

  const makeSortable = (table) => {
    for (const head of table.tHead.rows[0].cells) {
      /* Marks stand in a column without a name. */
      if (!head.textContent.trim()) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, head));
      head.append(button);
    }
  };

  /* Metrics: one panel at a time, and the same metric wherever the page has it; a click on its name chooses it. */
  let metric;

  const choose = (name) => {
    metric = name;
    for (const picked of all(".picked")) {
      const panels = all(":scope > .panel", picked);
      const shown = panels.some((panel) => panel.dataset.metric === name) ? name : picked.dataset.shown || picked.dataset.first;
      picked.dataset.shown = shown;
      for (const panel of panels) panel.hidden = panel.dataset.metric !== shown;
    }
    for (const button of all("button[data-metric]")) button.setAttribute("aria-pressed", button.dataset.metric === name);
    drawNext();
  };

  const makeChooser = (name, nodes) => {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.metric = name;
    nodes[0].before(button);
    button.append(...nodes);
    button.addEventListener("click", () => choose(name));
  };

  const startMetrics = () => {
    const names = new Set(all(".picked > .panel").map((panel) => panel.dataset.metric));
    if (!names.size) return;
    for (const item of all(".metrics li:not(:has(button))")) makeChooser(item.dataset.metric, [...item.childNodes]);
    for (const head of all("#metrics tbody th:not(:has(button))")) {
      if (names.has(head.firstChild.textContent)) makeChooser(head.firstChild.textContent, [head.firstChild]);
    }
    choose(names.has(metric) ? metric : document.querySelector(".picked").dataset.first);
  };

  /* What is typed or pasted elsewhere is copied by a click. */
  const copy = async (button, text) => {
    await navigator.clipboard.writeText(text.trimEnd());
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };

  const makeCopied = (code) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(button, code.textContent));
    code.before(button);
  };

  /* The tip: what the marks of a chart stand for, as text. */
  const tip = document.getElementById("tip");

  const place = (event) => {
    const { width, height } = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 12, root.clientWidth - width - 8);
    const below = event.clientY + 14;
    const y = below + height > root.clientHeight - 8 ? event.clientY - height - 10 : below;
    tip.style.transform = `translate(${Math.max(8, x)}px, ${Math.max(8, y)}px)`;
  };

  const showTip = (handler, event, item, value) => {
    if (value === null || value === undefined || value === "") {
      tip.hidden = true;
      return;
    }
    const pairs = typeof value === "object" ? Object.entries(value) : [["", value]];
    const list = document.createElement("dl");
    for (const [name, text] of pairs) {
      const term = document.createElement("dt");
      const said = document.createElement("dd");
      term.textContent = name;
      said.textContent = String(text);
      list.append(term, said);
    }
    tip.replaceChildren(list);
    tip.hidden = false;
    place(event);
  };

  /* Charts: drawn when they come near, again when the ground changes. */
  const system = matchMedia("(prefers-color-scheme: dark)");
  const themeNow = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const readJson = (id) => JSON.parse(document.getElementById(id).textContent);
  let themes = {};

  const column = (packed) => (Array.isArray(packed) ? packed : packed.codes.map((code) => packed.levels[code]));

  const unpacked = ({ rows, columns }) => {
    const lists = Object.entries(columns).map(([name, packed]) => [name, column(packed)]);
    return Array.from({ length: rows }, (_, row) => Object.fromEntries(lists.map(([name, list]) => [name, list[row]])));
  };

  const readSpec = (chart) => {
    const spec = readJson(`${chart.id}-data`);
    for (const name of Object.keys(spec.datasets)) spec.datasets[name] = unpacked(spec.datasets[name]);
    return spec;
  };

  const refuse = () => Promise.reject(new Error("a report loads nothing"));

  /* Beyond this many characters of data a canvas is drawn and moved faster than elements. */
  const LARGE = 60000;

  /* The charting library is unpacked when the first chart is drawn. */
  const unpack = async () => {
    const packed = atob(document.getElementById("chart-library").textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  };
  let library;

  const draw = async (chart, theme = themeNow()) => {
    if (chart.dataset.theme === theme || chart.offsetParent === null) return;
    chart.dataset.theme = theme;
    const large = document.getElementById(`${chart.id}-data`).textContent.length > LARGE;
    await (library ??= unpack());
    /* What is there stays until what is drawn anew can take its place. */
    const layer = document.createElement("div");
    layer.className = "coming";
    chart.append(layer);
    const { view } = await vegaEmbed(layer, links.prepared(chart, readSpec(chart), themes[theme]), {
      actions: false,
      ast: true,
      config: themes[theme],
      defaultStyle: false,
      loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse },
      mode: "vega-lite",
      renderer: large ? "canvas" : "svg",
      tooltip: showTip,
    });
    links.release(chart);
    links.attach(chart, view);
    // The chart is one picture with a name and a description; its marks have neither.
    layer.setAttribute("aria-hidden", "true");
    layer.classList.remove("coming");
    chart.replaceChildren(layer);
    chart.dataset.drawn = theme;
  };

  const drawAgain = (theme) => all(".chart[data-drawn]").forEach((chart) => draw(chart, theme));

  /* Milliseconds after which a chart is drawn although the page is busy. */
  const LATEST = 500;

  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 50));
  const later = (work) => idle(work, { timeout: LATEST });

  /* What is open is drawn when nothing else is to be done, so that it is there on paper too. */
  const drawNext = () => {
    const waiting = all(".chart:not([data-theme])").find((chart) => chart.offsetParent !== null);
    if (waiting) later(() => draw(waiting).finally(drawNext));
  };

  const watchCharts = () => {
    const charts = all(".chart");
    if (!charts.length) return;
    const seen = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
      { rootMargin: "400px" },
    );
    charts.forEach((chart) => seen.observe(chart));
  };

  const startCharts = () => {
    if (!document.getElementById("themes")) return;
    themes = readJson("themes");
    links.whenChanged((chart) => {
      delete chart.dataset.theme;
      draw(chart);
    });
    watchCharts();
    addEventListener("load", drawNext);
    system.addEventListener("change", () => drawAgain(themeNow()));
    addEventListener("scroll", () => (tip.hidden = true), { passive: true });
  };

  /* Paper: light, with everything open. */
  const opened = new Set();
  addEventListener("beforeprint", () => {
    for (const details of all("details:not([open])")) {
      details.open = true;
      opened.add(details);
    }
    all(".chart").forEach((chart) => draw(chart, "light"));
  });
  addEventListener("afterprint", () => {
    opened.forEach((details) => (details.open = false));
    opened.clear();
    drawAgain(themeNow());
  });

  /* Light or dark. */
  const startTheme = () => {
    const button = document.querySelector(".theme");
    const name = () => (button.textContent = themeNow() === "dark" ? "Light colours" : "Dark colours");
    button.hidden = false;
    name();
    button.addEventListener("click", () => {
      root.dataset.theme = themeNow() === "dark" ? "light" : "dark";
      name();
      drawAgain(themeNow());
    });
    system.addEventListener("change", name);
  };

  const startContent = () => {
    all("table[data-sortable]:not(:has(thead button))").forEach(makeSortable);
    startMetrics();
    all("pre.typed, #methods > p").forEach((code) => code.previousElementSibling?.matches(".copy") || makeCopied(code));
  };

  /* For pages that go on: what is new stands, what it replaced is let go. */
  window.deviate.renew = () => {
    links.charts().forEach((chart) => chart.isConnected || links.release(chart));
    tip.hidden = true;
    startContent();
    watchCharts();
    drawNext();
  };

  startContent();
  startTheme();
  startCharts();
})();
