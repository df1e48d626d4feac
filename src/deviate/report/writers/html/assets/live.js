"use strict";
(() => {
  /* Milliseconds between two questions whether something has changed. */
  const EVERY = 2000;

  const { all, renew } = window.deviate;
  const status = document.querySelector(".live");
  let version = null;

  /* What the reader has opened and chosen, by words, since the page is another one each time. */
  const opened = () => new Map(all("main details").map((fold) => [fold.querySelector("summary").textContent, fold.open]));
  const chosen = () => new Map(all("main select").map((select) => [select.id, select.value]));

  const replace = (text) => {
    const next = new DOMParser().parseFromString(text, "text/html");
    const [folds, picks, focused] = [opened(), chosen(), document.activeElement?.id];
    for (const fold of next.querySelectorAll("main details")) {
      const words = fold.querySelector("summary").textContent;
      if (folds.has(words)) fold.open = folds.get(words);
    }
    document.querySelector(".contents ul").replaceChildren(...next.querySelector(".contents ul").childNodes);
    document.querySelector("main").replaceChildren(...next.querySelector("main").childNodes);
    for (const select of all("main select")) {
      if (picks.has(select.id) && [...select.options].some((option) => option.value === picks.get(select.id)))
        select.value = picks.get(select.id);
    }
    renew();
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  };

  const ask = async () => {
    try {
      const answer = await (await fetch("version", { cache: "no-store" })).text();
      if (version !== null && answer !== version) {
        const page = await fetch("", { cache: "no-store" });
        if (page.ok) replace(await page.text());
      }
      version = answer;
      status.textContent = "live";
    } catch {
      status.textContent = "not live: deviate watch has ended";
    }
    setTimeout(ask, EVERY);
  };
  ask();
})();
