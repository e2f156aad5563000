// Leaves the entries that hold every word typed into a field with `data-filter`.
for (const field of document.querySelectorAll("input[data-filter]")) {
  const entries = [...document.querySelectorAll(field.dataset.filter)];
  const texts = entries.map((entry) => entry.textContent.toLowerCase());
  const apply = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    entries.forEach((entry, i) => {
      entry.hidden = !words.every((word) => texts[i].includes(word));
    });
    for (const part of document.querySelectorAll("article section")) {
      const own = part.querySelectorAll(field.dataset.filter);
      part.hidden = own.length > 0 && [...own].every((entry) => entry.hidden);
    }
    field.parentElement.dataset.left = entries.filter((e) => !e.hidden).length;
  };
  field.addEventListener("input", apply);
  apply();
}
// An address with a model's name opens its card.
const named = location.hash && document.getElementById(location.hash.slice(1));
if (named instanceof HTMLDetailsElement) named.open = true;
// What the theme leaves out for readers by ear and by keyboard.
for (const part of document.querySelectorAll("pre, .table-wrapper")) part.tabIndex = 0;
for (const caption of document.querySelectorAll("p.caption[role=heading]")) caption.ariaLevel = 2;
for (const side of document.querySelectorAll("aside")) side.ariaLabel = side.className;
