// Pages in folders are further from what is found.
const UP = document.currentScript.dataset.up;
const box = document.getElementById("search"), list = document.getElementById("found");
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length ? INDEX.filter(e => words.every(w => e.text.includes(w))) : [];
  hits.sort((a, b) => words.some(w => b.title.toLowerCase().includes(w)) - words.some(w => a.title.toLowerCase().includes(w)));
  list.replaceChildren(...hits.slice(0, 12).map(e => {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = UP + e.href; link.textContent = e.title; item.append(link); return item;
  }));
});
