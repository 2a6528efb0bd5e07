package httpapi

import (
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// rowsRequest asks for several tables at one epoch.
type rowsRequest struct {
	// Tables are ids or names.
	Tables []string `json:"tables"`
	// Limit is the rows of each table, 100 when absent.
	Limit *int `json:"limit"`
}

// maxTablesAtOnce bounds one read at one epoch.
const maxTablesAtOnce = 100

func (a *API) queryRows(c *Ctx) error {
	var in rowsRequest
	if err := c.body(&in); err != nil {
		return err
	}
	limit := 100
	if in.Limit != nil {
		limit = *in.Limit
	}
	switch {
	case len(in.Tables) == 0:
		return view.Errorf(view.Invalid, "tables is required: ids or names of tables")
	case len(in.Tables) > maxTablesAtOnce:
		return view.Errorf(view.Invalid, "%d tables are named: at most %d are read at once", len(in.Tables), maxTablesAtOnce)
	case limit < 0:
		return view.Errorf(view.Invalid, "limit is %d: it must not be negative", limit)
	}
	var ids []string
	seen := map[string]bool{}
	for _, key := range in.Tables {
		found := c.Catalog.TablesFor(key)
		if len(found) == 0 {
			if err := c.require("table.read", key, nil); err != nil {
				return err
			}
			return view.Errorf(view.Missing, "table '%s' does not exist", key)
		}
		var same []string
		for _, r := range found {
			if err := c.require("table.read", r.Name, r.Tags); err != nil {
				return err
			}
			same = append(same, r.ID)
		}
		if len(found) > 1 {
			return ambiguous("tables", key, same)
		}
		if !seen[same[0]] {
			seen[same[0]] = true
			ids = append(ids, same[0])
		}
	}
	out, err := a.opt.Runtime.RowsAtEpoch(c.Request().Context(), c.Env, ids, limit)
	if err != nil {
		return err
	}
	if out.Tables == nil {
		out.Tables = map[string][]view.TableRow{}
	}
	for name, rows := range out.Tables {
		out.Tables[name] = nonNil(rows)
	}
	out.Excluded = nonNil(out.Excluded)
	return c.ok(out)
}

func (a *API) functions(c *Ctx) error { return c.ok(catalog.Functions()) }
