// Package editor answers what a person who writes SQL asks of an editor: what can stand here, what is this, which
// argument am I at, and how should it look. It reads the statement with the parser that runs it, the relations from
// the catalog and the functions from the tables that bind them, so that what it offers is what compiles.
//
//	text, offset ──Complete──▶ []Item        names, functions, keywords and snippets that can stand at the offset
//	             ──Hover─────▶ *Tip          what the word at the offset is
//	             ──Signature─▶ *Call         the call around the offset and its active parameter
//	text         ──Format────▶ text          the same statement, one clause a line, every comment kept
//
// Texts are unfinished most of the time. Everything but Format works on any bytes and any offset: the tree is used
// where the parser could read it, the tokens where it could not.
//
//	list := editor.Complete("SELECT t. FROM trades t", 9, catalog, analyze.Table)
//	fmt.Println(list.Items[0].Label) // symbol
//
// Offsets count bytes. One outside of the text, or inside a rune, is moved to the nearest rune before it.
package editor
