"use strict";
// Sorts and filters the tables of a page, keeps what was chosen in its address and
// makes a file of the rows that are seen. Without it every table is there, by rank.
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const form = document.querySelector(".filter");
  const tables = all("table.sortable").map((table) => ({
    table,
    body: table.tBodies[0],
    rows: [...table.tBodies[0].rows],
    heads: all("thead tr:last-child > th", table),
    spans: all("thead th[colspan]", table),
    sorted: "!", // as the page was written
  }));

  // Numbers, of cells with several the first; texts; null where nothing stands.
  const value = (cell) => {
    if (!cell) return null;
    const shown = (cell.dataset.v ?? cell.firstChild?.textContent ?? "").trim();
    const text = cell.tagName === "TH" ? cell.textContent.trim() : shown;
    if (text === "" || text === "–") return null;
    const number = Number(text.split(" ")[0].replace("−", "-").replaceAll(",", ""));
    return cell.tagName === "TH" || Number.isNaN(number) ? text : number;
  };
  const order = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true });

  const sort = (one, key, descending) => {
    const place = one.heads.findIndex((head) => head.dataset.k === key);
    for (const head of one.heads) head.removeAttribute("aria-sort");
    let rows = one.rows;
    if (place >= 0) {
      one.heads[place].setAttribute("aria-sort", descending ? "descending" : "ascending");
      const sign = descending ? -1 : 1;
      rows = one.rows
        .map((row) => [row, value(row.cells[place])])
        .sort(([, a], [, b]) =>
          a === null || b === null ? (a === null) - (b === null) : sign * order(a, b))
        .map(([row]) => row);
    }
    one.body.append(...rows);
  };

  // What was chosen. A link into the page changes the address and not the choice.
  let state = new URLSearchParams();
  const read = () => {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) return;
    state = new URLSearchParams(hash);
  };
  const choose = (key, text) => {
    if (text) state.set(key, text);
    else state.delete(key);
    history.replaceState(null, "", "#" + state);
    show();
  };

  const has = (tokens, token) => !token || (tokens ?? "").split(" ").includes(token);
  const matches = (row) => {
    const own = row.dataset.b ? document.getElementById(row.dataset.b).dataset : row.dataset;
    const words = (state.get("q") ?? "").toLowerCase().split(/\s+/);
    const text = (row.cells[0].tagName === "TH" || row.dataset.b ? row.textContent
      : row.querySelector("th").textContent).toLowerCase();
    return words.every((word) => text.includes(word)) && has(own.t, state.get("t")) &&
      has(row.dataset.s, state.get("s")) &&
      (own.c === undefined || has(own.c, state.get("c")));
  };
  const sees = (head) => {
    const name = state.get("c"), level = state.get("l");
    if (!head.dataset.c) return true;
    return (!name || name === head.dataset.c || name === "group:" + head.dataset.g) &&
      (!level || !head.dataset.l || level === head.dataset.l);
  };

  const columns = (one) => {
    if (!one.heads.some((head) => head.dataset.c)) return;
    const seen = one.heads.map((head) => sees(head));
    const before = one.seen ?? one.heads.map(() => true);
    one.seen = seen;
    const changed = seen.flatMap((now, place) => (now === before[place] ? [] : [place]));
    for (const place of changed) {
      one.heads[place].hidden = !seen[place];
      for (const row of one.rows) row.cells[place].hidden = !seen[place];
    }
    let place = 1;
    for (const span of one.spans) {
      span.dataset.n ??= span.colSpan;
      const count = seen.slice(place, place + Number(span.dataset.n)).filter(Boolean).length;
      place += Number(span.dataset.n);
      span.hidden = !count;
      span.colSpan = count || 1;
    }
  };

  const show = () => {
    for (const one of tables) {
      const [key, way = ""] = (state.get("sort-" + one.table.id) ?? "").split("!");
      if (one.sorted !== `${key}!${way}`) sort(one, key, way === "desc");
      one.sorted = `${key}!${way}`;
      columns(one);
    }
    const listed = all("table tbody tr").filter((row) => row.dataset.s || row.dataset.b || row.dataset.t);
    for (const row of listed) row.hidden = !matches(row);
    for (const part of all(".dataset")) part.hidden = !all("tbody tr:not([hidden])", part).length;
    const [first] = tables;
    if (!form || !first) return;
    for (const field of all("input, select", form)) field.value = state.get(field.name) ?? "";
    const count = first.rows.filter((row) => !row.hidden).length;
    form.querySelector("output").value = `${count} of ${first.rows.length} models shown`;
  };

  // Texts that a spreadsheet would run get a mark, as in the site's own files.
  const field = (text) => {
    const plain = text.trim() !== "" && Number.isFinite(Number(text));
    const safe = !plain && /^'*[=+\-@\t\r\n]/.test(text) ? "'" + text : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const csv = (one) => {
    const places = one.heads.flatMap((head, place) => (head.dataset.k ? [place] : []));
    const ends = (place) => one.rows.some((row) => (row.cells[place].dataset.v ?? "").includes(" "));
    const wide = places.map(ends);
    const head = places.flatMap((place, i) => {
      const key = one.heads[place].dataset.k;
      return wide[i] ? [key, key + "_lo", key + "_hi"] : [key];
    });
    const lines = [...one.body.rows].filter((row) => !row.hidden).map((row) =>
      places.flatMap((place, i) => {
        const cell = row.cells[place];
        const shown = value(cell);
        if (wide[i]) return [...(cell.dataset.v ?? "").split(" "), "", "", ""].slice(0, 3);
        return [cell.querySelector("a")?.textContent ?? (shown === null ? "" : String(shown))];
      }));
    return [head, ...lines].map((line) => line.map(field).join(",") + "\n").join("");
  };
  const save = (button) => {
    const one = tables.find(({ table }) => table.id === button.dataset.csv);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv(one)], { type: "text/csv" }));
    link.download = "shown.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  for (const one of tables) {
    for (const head of one.heads.filter((h) => h.dataset.k)) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      if (head.dataset.l) button.setAttribute("aria-label", `${head.dataset.c} ${button.textContent}`.replaceAll("_", " "));
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.dataset.d ?? "asc";
        const now = { ascending: "asc", descending: "desc" }[head.getAttribute("aria-sort")];
        const way = !now ? first : now === "asc" ? "desc" : "asc";
        choose("sort-" + one.table.id, `${head.dataset.k}!${way}`);
      });
    }
  }
  if (form) {
    form.hidden = false;
    form.addEventListener("input", (event) => choose(event.target.name, event.target.value));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => {
      state = new URLSearchParams();
      setTimeout(() => choose("q", ""));
    });
    for (const button of all("[data-csv]", form)) button.addEventListener("click", () => save(button));
  }
  addEventListener("hashchange", () => {
    read();
    show();
  });
  read();
  show();
})();
