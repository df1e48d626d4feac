"use strict";
(() => {
  /* Milliseconds between two questions whether something has changed, and after which silence is said. */
  const EVERY = 2000;
  const SILENT = 60000;

  const { all, links, renew } = window.deviate;
  const status = document.querySelector(".live");
  let version = null;
  let heard = Date.now();

  /* What the reader has opened, by words, since a section is another one each time. */
  const keepOpen = (old, fresh) => {
    const opened = new Map(all("details", old).map((fold) => [fold.querySelector("summary").textContent, fold.open]));
    for (const fold of all("details", fresh)) {
      const words = fold.querySelector("summary").textContent;
      if (opened.has(words)) fold.open = opened.get(words);
    }
  };

  /* A chart stays until it is drawn with what is new. */
  const keepCharts = (old, fresh) => {
    for (const chart of all(".chart[data-drawn]", old)) {
      const next = fresh.querySelector(`#${CSS.escape(chart.id)}`);
      if (!next) continue;
      const same = document.getElementById(`${chart.id}-data`).textContent === next.closest("figure").querySelector("script").textContent;
      const controls = chart.previousElementSibling;
      next.replaceWith(chart);
      if (same && controls?.matches(".controls")) chart.before(controls);
      if (!same) links.again(chart);
      for (const name of ["aria-label", "aria-description"]) chart.setAttribute(name, next.getAttribute(name));
    }
  };

  const swap = (old, fresh) => {
    keepOpen(old, fresh);
    keepCharts(old, fresh);
    old.replaceWith(fresh);
  };

  /* Sections that are as they were stay; where there are others than before, all are new. */
  const replace = (text) => {
    const next = new DOMParser().parseFromString(text, "text/html");
    const focused = document.activeElement?.id;
    const [before, after] = [document, next].map((page) => all("main section", page));
    if (before.map((section) => section.id).join() === after.map((section) => section.id).join()) {
      before.forEach((old, place) => old.dataset.version === after[place].dataset.version || swap(old, after[place]));
      const cards = ["run-cards"].map((id) => [document.getElementById(id), next.getElementById(id)]);
      for (const [old, fresh] of cards) if (old && fresh) old.replaceWith(fresh);
    } else {
      swap(document.querySelector("main"), next.querySelector("main"));
    }
    renew();
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };

  const say = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };

  const ask = async () => {
    try {
      const answer = await (await fetch("version", { cache: "no-store" })).text();
      if (answer !== version) heard = Date.now();
      if (version !== null && answer !== version) {
        const page = await fetch("", { cache: "no-store" });
        if (page.ok) replace(await page.text());
      }
      version = answer;
      const minutes = Math.floor((Date.now() - heard) / SILENT);
      say(minutes && document.querySelector("#live table") ? `nothing heard of the runs for ${minutes} min` : "live");
    } catch {
      say("not live: deviate watch has ended");
    }
    setTimeout(ask, EVERY);
  };
  ask();
})();
