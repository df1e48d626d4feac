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

  /* Metrics: one panel at a time, and the same metric in every section that has it. */
  const choose = (select, metric) => {
    if (![...select.options].some((option) => option.value === metric)) return;
    select.value = metric;
    for (const panel of all(".panel", select.closest(".picked"))) panel.hidden = panel.dataset.metric !== metric;
  };

  const makePicker = (select) => {
    select.closest(".picker").hidden = false;
    choose(select, select.value);
    select.addEventListener("change", () => {
      all(".picker select").forEach((other) => choose(other, select.value));
      drawNext();
    });
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
    links.release(chart);
    const large = document.getElementById(`${chart.id}-data`).textContent.length > LARGE;
    await (library ??= unpack());
    const { view } = await vegaEmbed(chart, links.prepared(chart, readSpec(chart), themes[theme]), {
      actions: false,
      ast: true,
      config: themes[theme],
      defaultStyle: false,
      loader: { load: refuse, sanitize: refuse, http: refuse, file: refuse },
      mode: "vega-lite",
      renderer: large ? "canvas" : "svg",
      tooltip: showTip,
    });
    links.attach(chart, view);
    // The chart is one picture with a name and a description; its marks have neither.
    for (const drawn of chart.children) drawn.setAttribute("aria-hidden", "true");
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

  /* On a phone the contents are folded, so that the answer is on the first screen. */
  const startFold = () => {
    const narrow = matchMedia("(max-width: 48rem)");
    const fold = () => (document.querySelector(".contents details").open = !narrow.matches);
    fold();
    narrow.addEventListener("change", fold);
  };

  /* Where the reader is. */
  let reader;
  const startContents = () => {
    reader?.disconnect();
    const links = new Map(all(".contents a").map((link) => [link.hash.slice(1), link]));
    const mark = (entries) => {
      const entry = entries.find((each) => each.isIntersecting);
      if (!entry) return;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    };
    reader = new IntersectionObserver(mark, { rootMargin: "-10% 0px -70% 0px" });
    all("main > section").forEach((section) => reader.observe(section));
  };

  const startContent = () => {
    all("table[data-sortable]").forEach(makeSortable);
    all(".picker select").forEach(makePicker);
  };

  /* For pages that go on: what is new stands, what it replaced is let go. */
  window.deviate.renew = () => {
    links.charts().forEach((chart) => chart.isConnected || links.release(chart));
    tip.hidden = true;
    startContent();
    startContents();
    watchCharts();
    drawNext();
  };

  startContent();
  startTheme();
  startFold();
  startContents();
  startCharts();
})();
