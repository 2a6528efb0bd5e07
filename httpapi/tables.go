package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

func (a *API) listTables(c *Ctx) error {
	out := []catalog.Table{}
	for _, r := range c.Catalog.Tables() {
		if c.decide("table.read", r.Name, r.Tags).Allowed {
			out = append(out, a.opt.Catalog.ShowTable(c.Catalog, r))
		}
	}
	return c.ok(out)
}

func (a *API) getTable(c *Ctx) error { return c.ok(a.opt.Catalog.ShowTable(c.Catalog, c.Table)) }

func (a *API) createTable(c *Ctx) error {
	in := catalog.NewTable()
	if err := c.body(&in); err != nil {
		return err
	}
	if err := c.require("table.write", in.Name, in.Tags); err != nil {
		return err
	}
	r, err := a.opt.Catalog.CreateTable(c.Request().Context(), c.Env, c.actor(), in)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/api/tables/"+r.ID)
	return a.showTable(c, r)
}

func (a *API) updateTable(c *Ctx) error {
	in := catalog.NewTable()
	if err := c.body(&in); err != nil {
		return err
	}
	r, err := a.opt.Catalog.UpdateTable(c.Request().Context(), c.Env, c.actor(), c.Table.ID, in)
	if err != nil {
		return err
	}
	return a.appliedTable(c, r, c.Table.Run.Revision)
}

func (a *API) deleteTable(c *Ctx) error {
	if err := a.opt.Catalog.DeleteTable(c.Request().Context(), c.Env, c.Table.ID); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

func (a *API) startTable(c *Ctx) error {
	r, err := a.opt.Catalog.StartTable(c.Request().Context(), c.Env, c.Table.ID)
	if err != nil {
		return err
	}
	return a.appliedTable(c, r, -1)
}

func (a *API) stopTable(c *Ctx) error {
	r, err := a.opt.Catalog.StopTable(c.Request().Context(), c.Env, c.Table.ID)
	if err != nil {
		return err
	}
	return a.appliedTable(c, r, -1)
}

// appliedTable answers once the runtime has followed the record's desired state, or the wait is over.
func (a *API) appliedTable(c *Ctx, r *catalog.TableRecord, before int64) error {
	if r.Run.Revision != before {
		if err := a.applied(c, catalog.InputTable, r.ID, r.Run); err != nil {
			return err
		}
	}
	return a.showTable(c, r)
}

func (a *API) showTable(c *Ctx, r *catalog.TableRecord) error {
	sn, err := a.opt.Catalog.Snapshot(c.Env)
	if err != nil {
		return err
	}
	return c.ok(a.opt.Catalog.ShowTable(sn, r))
}

func (a *API) validateTable(c *Ctx) error {
	var in validateRequest
	if err := c.body(&in); err != nil {
		return err
	}
	v, err := a.opt.Catalog.ValidateTable(c.Env, in.SQL)
	if err != nil {
		return err
	}
	return c.ok(v)
}

func (a *API) tablePlan(c *Ctx) error { return c.ok(a.opt.Catalog.TablePlan(c.Catalog, c.Table)) }

// Bounds of a read that waits for a position.
const (
	defaultWaitMs = 5000
	maxWaitMs     = 50000 // below the bound of the request itself, so that the answer says what was waited for
)

func (a *API) tableRows(c *Ctx) error {
	q := view.RowsQuery{}
	var err error
	if q.Limit, err = c.whole("limit", 100, 0); err != nil {
		return err
	}
	if q.Offset, err = c.whole("offset", 0, 0); err != nil {
		return err
	}
	wait, err := c.clamped("timeoutMs", defaultWaitMs, 0, maxWaitMs)
	if err != nil {
		return err
	}
	if q.MinPositions, err = positions(c.QueryParams()["minPosition"]); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if len(q.MinPositions) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(wait)*time.Millisecond)
		defer cancel()
	}
	rows, err := a.opt.Runtime.TableRows(ctx, c.Env, c.Table.ID, q)
	if err != nil {
		if ctx.Err() != nil && c.Request().Context().Err() == nil && view.CodeOf(err) == view.Internal {
			return view.Errorf(view.Timeout, "table '%s' did not reach %s within %d ms", c.Table.Name, strings.Join(c.QueryParams()["minPosition"], ", "), wait)
		}
		return err
	}
	rows.Rows = nonNil(rows.Rows)
	return c.ok(rows)
}

// positions reads `<input>:<seq>` texts. The input's name may hold a colon: the last one counts. Of several for one
// input, the highest counts.
func positions(texts []string) (map[string]uint64, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	out := map[string]uint64{}
	for _, t := range texts {
		i := strings.LastIndexByte(t, ':')
		if i <= 0 {
			return nil, view.Errorf(view.Invalid, "minPosition is '%s': <input>:<seq> is expected", t)
		}
		seq, err := strconv.ParseUint(t[i+1:], 10, 63)
		if err != nil {
			return nil, view.Errorf(view.Invalid, "minPosition is '%s': '%s' is not a position, a whole number is expected", t, t[i+1:])
		}
		out[t[:i]] = max(out[t[:i]], seq)
	}
	return out, nil
}

func (a *API) tableCSV(c *Ctx) error {
	limit, err := c.clamped("limit", 10000, 1, 100000)
	if err != nil {
		return err
	}
	offset, err := c.whole("offset", 0, 0)
	if err != nil {
		return err
	}
	rows, err := a.opt.Runtime.TableRows(c.Request().Context(), c.Env, c.Table.ID, view.RowsQuery{Limit: limit, Offset: offset})
	if err != nil {
		return err
	}
	w, err := newCSV(c, c.Table.Name)
	if err != nil {
		return err
	}
	columns := catalog.Schema(c.Table.OutputFields).Names()
	w.record(append(columns, "_weight"))
	for _, r := range rows.Rows {
		m, err := parseRow(r.Row)
		if err != nil {
			return err
		}
		w.record(append(m.cells(columns), strconv.FormatInt(r.Weight, 10)))
	}
	return w.end()
}

func (a *API) tableMetrics(c *Ctx) error {
	m, err := a.opt.Runtime.TableMetrics(c.Env, c.Table.ID)
	if err != nil {
		return err
	}
	m.DeclaredKeyColumns = nonNil(m.DeclaredKeyColumns)
	return c.ok(m)
}

func (a *API) tableReplay(c *Ctx) error {
	r, err := a.opt.Runtime.TableReplay(c.Request().Context(), c.Env, c.Table.ID)
	if err != nil {
		return err
	}
	return c.ok(r)
}
