// Order of search results: guides come before the reference, and a section before the whole page.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    (page.startsWith("reference/") ? score - 25 : score) + (anchor ? 1 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
