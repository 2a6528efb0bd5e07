// Package web is the console: a React application in src, built by Vite into dist and
// embedded into the binary.
//
// dist is not committed. A fresh clone holds only dist/.gitkeep, which keeps the embed
// directive valid, and the handler then shows a page that says how to build the console.
//
//	api, err := httpapi.New(httpapi.Options{Console: web.Handler(web.Assets())})
package web
