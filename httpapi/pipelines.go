package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/streamsforge/streamsforge/engine/types"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

func (a *API) listPipelines(c *Ctx) error {
	out := []catalog.Pipeline{}
	for _, r := range c.Catalog.Pipelines() {
		if c.decide("pipeline.read", r.Name, r.Tags).Allowed {
			out = append(out, a.opt.Catalog.ShowPipeline(c.Catalog, r))
		}
	}
	return c.ok(out)
}

func (a *API) getPipeline(c *Ctx) error {
	return c.ok(a.opt.Catalog.ShowPipeline(c.Catalog, c.Pipeline))
}

func (a *API) createPipeline(c *Ctx) error {
	in := catalog.NewPipeline()
	if err := c.body(&in); err != nil {
		return err
	}
	if err := c.require("pipeline.write", in.Name, in.Tags); err != nil {
		return err
	}
	r, err := a.opt.Catalog.CreatePipeline(c.Request().Context(), c.Env, c.actor(), in)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/api/pipelines/"+r.ID)
	return a.showPipeline(c, r)
}

func (a *API) updatePipeline(c *Ctx) error {
	in := catalog.NewPipeline()
	if err := c.body(&in); err != nil {
		return err
	}
	r, err := a.opt.Catalog.UpdatePipeline(c.Request().Context(), c.Env, c.actor(), c.Pipeline.ID, in)
	if err != nil {
		return err
	}
	return a.appliedPipeline(c, r, c.Pipeline.Run.Revision)
}

func (a *API) deletePipeline(c *Ctx) error {
	if err := a.opt.Catalog.DeletePipeline(c.Request().Context(), c.Env, c.Pipeline.ID); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

func (a *API) startPipeline(c *Ctx) error {
	r, err := a.opt.Catalog.StartPipeline(c.Request().Context(), c.Env, c.Pipeline.ID)
	if err != nil {
		return err
	}
	return a.appliedPipeline(c, r, -1)
}

func (a *API) stopPipeline(c *Ctx) error {
	r, err := a.opt.Catalog.StopPipeline(c.Request().Context(), c.Env, c.Pipeline.ID)
	if err != nil {
		return err
	}
	return a.appliedPipeline(c, r, -1)
}

// appliedPipeline answers once the runtime has followed the record's desired state, or the wait is over.
func (a *API) appliedPipeline(c *Ctx, r *catalog.PipelineRecord, before int64) error {
	if r.Run.Revision != before {
		if err := a.applied(c, catalog.InputPipeline, r.ID, r.Run); err != nil {
			return err
		}
	}
	return a.showPipeline(c, r)
}

func (a *API) showPipeline(c *Ctx, r *catalog.PipelineRecord) error {
	sn, err := a.opt.Catalog.Snapshot(c.Env)
	if err != nil {
		return err
	}
	return c.ok(a.opt.Catalog.ShowPipeline(sn, r))
}

// applied waits, for a bounded time, until the runtime has followed a desired state. A wait that ends early is no
// failure: the desired state is stored and will be followed. A refused start has nothing to wait for.
func (a *API) applied(c *Ctx, kind catalog.InputKind, id string, run catalog.Run) error {
	if run.Refused != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), a.opt.ApplyTimeout)
	defer cancel()
	_, err := a.opt.Runtime.Await(ctx, c.Env, kind, id, run.Revision)
	if err != nil && ctx.Err() == nil && view.CodeOf(err) != view.Unknown {
		return err
	}
	return c.Request().Context().Err()
}

type validateRequest struct {
	SQL string `json:"sql"`
}

func (a *API) validatePipeline(c *Ctx) error {
	var in validateRequest
	if err := c.body(&in); err != nil {
		return err
	}
	v, err := a.opt.Catalog.ValidatePipeline(c.Env, in.SQL)
	if err != nil {
		return err
	}
	return c.ok(v)
}

func (a *API) pipelinePlan(c *Ctx) error {
	return c.ok(a.opt.Catalog.PipelinePlan(c.Catalog, c.Pipeline))
}

func (a *API) pipelineResults(c *Ctx) error {
	limit, err := c.clamped("limit", 100, 1, 100000)
	if err != nil {
		return err
	}
	if c.Pipeline == nil {
		return c.ok([]view.ResultEnvelope{})
	}
	rows, err := a.opt.Runtime.PipelineResults(c.Request().Context(), c.Env, c.Pipeline.ID, limit)
	if err != nil {
		return err
	}
	return c.ok(nonNil(rows))
}

func (a *API) pipelineCSV(c *Ctx) error {
	limit, err := c.clamped("limit", 10000, 1, 100000)
	if err != nil {
		return err
	}
	rows, err := a.opt.Runtime.PipelineResults(c.Request().Context(), c.Env, c.Pipeline.ID, limit)
	if err != nil {
		return err
	}
	w, err := newCSV(c, c.Pipeline.Name)
	if err != nil {
		return err
	}
	objects := make([]members, len(rows))
	seen := map[string]bool{}
	var columns []string
	weighted := slices.ContainsFunc(rows, func(r view.ResultEnvelope) bool { return r.Weight != nil })
	for i, r := range rows {
		if objects[i], err = parseRow(r.Row); err != nil {
			return err
		}
		for _, m := range objects[i] {
			if !seen[m.name] {
				seen[m.name] = true
				columns = append(columns, m.name)
			}
		}
	}
	header := columns
	if weighted { // only amended results have a weight worth telling
		header = append(slices.Clone(columns), types.WeightColumn)
	}
	w.record(header)
	for i, o := range objects {
		cells := o.cells(columns)
		if weighted {
			weight := int64(1)
			if rows[i].Weight != nil {
				weight = *rows[i].Weight
			}
			cells = append(cells, strconv.FormatInt(weight, 10))
		}
		w.record(cells)
	}
	return w.end()
}

func (a *API) pipelineLate(c *Ctx) error {
	limit, err := c.whole("limit", 100, 1)
	if err != nil {
		return err
	}
	rows, err := a.opt.Runtime.PipelineLate(c.Request().Context(), c.Env, c.Pipeline.ID, limit)
	if err != nil {
		return err
	}
	return c.ok(nonNil(rows))
}

func (a *API) pipelineMetrics(c *Ctx) error {
	if c.Pipeline == nil {
		return c.ok(view.PipelineMetrics{PipelineID: entityKey(c), Status: view.Stopped, Epoch: -1})
	}
	m, err := a.opt.Runtime.PipelineMetrics(c.Env, c.Pipeline.ID)
	if err != nil {
		return err
	}
	return c.ok(m)
}

func (a *API) pipelineReplay(c *Ctx) error {
	r, err := a.opt.Runtime.PipelineReplay(c.Request().Context(), c.Env, c.Pipeline.ID)
	if err != nil {
		return err
	}
	return c.ok(r)
}
