// Words of the page itself; those of the lesson are in its data.
const WORDS = {
  en: {
    theme: "Light / dark", minutes: "min", of: "of", back: "Back", next: "Next", skip: "Skip", finish: "Finish", again: "Once more", check: "Check",
    right: "Right", rightAre: "Right", row: "row", column: "column", layer: "layer", head: "head", point: ".", up: "Up", down: "Down",
    order: "Put them in order: with the buttons, or Alt and an arrow key.", pick: "Choose a cell: click it, or go to it by the arrow keys and press Enter.",
    draw: "Paint the map: a click or Enter makes a cell darker, then empty again; 0 to 3 set it.", overlap: "overlap", firstTry: "right at the first try",
    write: "Write at least 20 letters.", compare: "Compare", had: "I had it", partly: "Partly", notYet: "Not yet", number: "That is no number.",
    live: "This task needs Headlight's window:", reveal: "Show what it leads to", view: "The window shows another view here:", concealed: "hidden until you have answered",
    printed: "Above: printed by", computed: "below: computed here", answers: "Answers", tasks: "Name, date", none: "No task of this lesson can be done on paper.",
    results: "Results", who: "file", share: "first try", legend: "✓ right at the first try · (✓) later · ✗ not right · – no answer", question: "question", explain: "In your own words", ordered: "Number them in order.", mark: "Mark the cell in the map.",
    fill: "Fill in the row", paint: "Shade the empty map.", indices: "Rows and columns are counted from 0.",
  },
  de: {
    theme: "Hell / dunkel", minutes: "min", of: "von", back: "Zurück", next: "Weiter", skip: "Überspringen", finish: "Fertig", again: "Noch einmal", check: "Prüfen",
    right: "Richtig", rightAre: "Richtig", row: "Zeile", column: "Spalte", layer: "Schicht", head: "Head", point: ",", up: "Nach oben", down: "Nach unten",
    order: "In die richtige Reihenfolge bringen: mit den Knöpfen oder Alt und einer Pfeiltaste.", pick: "Eine Zelle wählen: anklicken, oder mit den Pfeiltasten hingehen und Enter drücken.",
    draw: "Die Karte malen: ein Klick oder Enter macht eine Zelle dunkler, dann wieder leer; 0 bis 3 setzen sie.", overlap: "Überdeckung", firstTry: "beim ersten Versuch richtig",
    write: "Mindestens 20 Buchstaben schreiben.", compare: "Vergleichen", had: "Hatte ich", partly: "Teilweise", notYet: "Noch nicht", number: "Das ist keine Zahl.",
    live: "Diese Aufgabe braucht Headlights Fenster:", reveal: "Zeigen, wohin sie führt", view: "Das Fenster zeigt hier eine andere Ansicht:", concealed: "verdeckt, bis geantwortet ist",
    printed: "Oben: gedruckt in", computed: "unten: hier berechnet", answers: "Lösungen", tasks: "Name, Datum", none: "Keine Aufgabe dieser Lektion geht auf Papier.",
    results: "Ergebnisse", who: "Datei", share: "erster Versuch", legend: "✓ beim ersten Versuch richtig · (✓) später · ✗ nicht richtig · – keine Antwort", question: "Frage", explain: "In eigenen Worten", ordered: "In der richtigen Reihenfolge nummerieren.", mark: "Die Zelle in der Karte markieren.",
    fill: "Die Zeile ausfüllen", paint: "Die leere Karte schattieren.", indices: "Zeilen und Spalten werden von 0 an gezählt.",
  },
};
