package httpapi

import (
	"net/http"

	"github.com/streamsforge/streamsforge/access"
	"github.com/streamsforge/streamsforge/server/catalog"
	"github.com/streamsforge/streamsforge/server/view"
)

// Parameters that several routes share.
var (
	limitRows    = Param{Name: "limit", Type: "integer", Default: "100", Doc: "rows of the page"}
	offsetRows   = Param{Name: "offset", Type: "integer", Default: "0", Doc: "rows to skip"}
	limitResults = Param{Name: "limit", Type: "integer", Default: "100", Doc: "rows, moved into 1..100000"}
	limitCSV     = Param{Name: "limit", Type: "integer", Default: "10000", Doc: "rows, moved into 1..100000"}
	minPosition  = Param{Name: "minPosition", Type: "string", Repeated: true, Doc: "`<input>:<seq>`: wait until the rows reflect this position of a source; repeatable"}
	formatText   = Param{Name: "format", Type: "string", Default: "json", Doc: "`text` answers text for people, as does Accept: text/plain"}
	timeoutParam = Param{Name: "timeoutMs", Type: "integer", Default: "5000", Doc: "how long to wait for minPosition, at most 50000"}
)

var (
	refused      = func(doc string) Status { return Status{Code: http.StatusBadRequest, Doc: doc, Body: ErrorBody{}} }
	conflict     = func(doc string) Status { return Status{Code: http.StatusConflict, Doc: doc, Body: ErrorBody{}} }
	missing      = Status{Code: http.StatusNotFound, Doc: "no such entity"}
	ambiguousKey = conflict("several entities have this name; address one by id")
	halfDone     = Status{Code: http.StatusInternalServerError, Doc: "the login is stored and its role was not mirrored; the text says so", Body: ErrorBody{}}
	behind       = Status{Code: http.StatusGatewayTimeout, Doc: "a position was not reached in time", Body: ErrorBody{}}
)

// Routes is the route table.
func Routes() []Route {
	var all []Route
	for _, group := range [][]Route{authRoutes(), sourceRoutes(), ingestRoutes(), pipelineRoutes(), tableRoutes(), queryRoutes(), editorRoutes(), metaRoutes()} {
		all = append(all, group...)
	}
	return all
}

func authRoutes() []Route {
	return []Route{
		{
			Method: http.MethodPost, Path: "/api/auth/login", Tag: "auth", Summary: "Exchanges a user name and a password for a token that is good for 12 hours.",
			NoEnvironment: true, Request: loginRequest{}, Response: access.Session{}, handler: (*API).login,
			Also: []Status{refused("the body is not a JSON object"), {Code: http.StatusUnauthorized, Doc: "wrong user name or password"}, {Code: http.StatusTooManyRequests, Doc: "too many failed logins; Retry-After says when to try again", Body: ErrorBody{}}},
		},
		{
			Method: http.MethodPost, Path: "/api/auth/logout", Tag: "auth", Summary: "Clears the cookie of the reference pages.",
			NoEnvironment: true, Success: http.StatusNoContent, handler: (*API).logout,
		},
		{
			Method: http.MethodGet, Path: "/api/auth/me", Tag: "auth", Summary: "Says who the caller is and what they may do.",
			NoEnvironment: true, Floor: access.Viewer, Response: Me{}, handler: (*API).me,
			Also: []Status{{Code: http.StatusNotFound, Doc: "the login was deleted"}},
		},
		{
			Method: http.MethodGet, Path: "/api/users", Tag: "users", Summary: "Lists the logins that the caller may read.",
			Floor: access.Admin, Action: "user.read", Scope: InHandler, Response: []access.User{}, handler: (*API).users,
		},
		{
			Method: http.MethodPost, Path: "/api/users", Tag: "users", Summary: "Creates a login.",
			Floor: access.Admin, Action: "user.write", Scope: InHandler, Request: newUserRequest{}, Response: access.User{}, Success: http.StatusCreated, handler: (*API).createUser,
			Also: []Status{refused("`username and password are required`, `username already exists`, or another rule"), halfDone},
		},
		{
			Method: http.MethodPut, Path: "/api/users/:username", Tag: "users", Summary: "Changes a login; null members stay as they are. Setting a password resets it.",
			Floor: access.Admin, Action: "user.write", Scope: UserName, Request: editUserRequest{}, Response: access.User{}, handler: (*API).updateUser,
			Also: []Status{refused("a rule is broken"), missing, halfDone},
		},
		{
			Method: http.MethodDelete, Path: "/api/users/:username", Tag: "users", Summary: "Deletes a login and its access entry.",
			Floor: access.Admin, Action: "user.write", Scope: UserName, Success: http.StatusNoContent, handler: (*API).deleteUser,
			Also: []Status{refused("`cannot delete yourself`"), missing},
		},
	}
}

func sourceRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/api/sources", Tag: "sources", Summary: "Lists the sources that the caller may read.",
			Floor: access.Viewer, Action: "source.read", Scope: InHandler, Response: []catalog.Source{}, handler: (*API).listSources,
		},
		{
			Method: http.MethodPost, Path: "/api/sources", Tag: "sources", Summary: "Creates a source.",
			Floor: access.Editor, Action: "source.write", Scope: InHandler, Request: catalog.Source{}, Response: catalog.Source{}, Success: http.StatusCreated, handler: (*API).createSource,
			Also: []Status{refused("every problem of the definition, or `source name already exists`"), conflict("the name belongs to a table or pipeline")},
		},
		{
			Method: http.MethodGet, Path: "/api/sources/:name", Tag: "sources", Summary: "Reads a source; secrets show as `***`.",
			Floor: access.Viewer, Action: "source.read", Scope: SourceName, Response: catalog.Source{}, handler: (*API).getSource, Also: []Status{missing},
		},
		{
			Method: http.MethodPut, Path: "/api/sources/:name", Tag: "sources", Summary: "Replaces a source's definition; the name of the path wins.",
			Floor: access.Editor, Action: "source.write", Scope: SourceName, Request: catalog.Source{}, Response: catalog.Source{}, handler: (*API).updateSource,
			Query: []Param{{Name: "allowBreaking", Type: "boolean", Default: "true", Doc: "false refuses a change that removes a field or changes its type"}},
			Also:  []Status{refused("every problem of the definition"), missing, conflict("the change is breaking; `breakingReasons` lists why")},
		},
		{
			Method: http.MethodDelete, Path: "/api/sources/:name", Tag: "sources", Summary: "Deletes a source; what reads it goes on with the rows it has.",
			Floor: access.Editor, Action: "source.delete", Scope: SourceName, Success: http.StatusNoContent, handler: (*API).deleteSource, Also: []Status{missing},
		},
		{
			Method: http.MethodGet, Path: "/api/sources/:name/status", Tag: "sources", Summary: "Reads the state of a source's connector.",
			Floor: access.Viewer, Action: "source.read", Scope: SourceName, Response: view.ConnectorStatus{}, handler: (*API).sourceStatus,
			Also: []Status{{Code: http.StatusNoContent, Doc: "the kind has no connector (generator, ingest, crdt)"}, missing},
		},
		{
			Method: http.MethodGet, Path: "/api/sources/:name/metrics", Tag: "sources", Summary: "Counts what has been read of a source's stream.",
			Floor: access.Viewer, Action: "source.read", Scope: SourceName, Response: view.SourceMetrics{}, handler: (*API).sourceMetrics, Also: []Status{missing},
		},
		{
			Method: http.MethodGet, Path: "/api/sources/:name/events", Tag: "sources", Summary: "Reads the newest rows of a source, newest first.",
			Floor: access.Viewer, Action: "source.read", Scope: SourceName, Response: view.SourceEvents{}, handler: (*API).sourceEvents,
			Query: []Param{{Name: "limit", Type: "integer", Default: "50", Doc: "rows, moved into 1..1000"}}, Also: []Status{missing},
		},
		{
			Method: http.MethodGet, Path: "/api/sources/:name/replay", Tag: "sources", Summary: "Says what the stream of a source retains.",
			Floor: access.Viewer, Action: "source.read", Scope: SourceName, Response: view.ReplayInfo{}, handler: (*API).sourceReplay, Also: []Status{missing},
		},
		{
			Method: http.MethodGet, Path: "/api/sources/:name/quarantine", Tag: "sources", Summary: "Lists what could not be read of a source, with its original bytes.",
			Floor: access.Viewer, Action: "source.read", Scope: SourceName, Response: view.Quarantine{}, handler: (*API).quarantine,
			Query: []Param{{Name: "limit", Type: "integer", Default: "100", Doc: "entries, moved into 1..1000"}}, Also: []Status{missing},
		},
		{
			Method: http.MethodPost, Path: "/api/sources/:name/quarantine/replay", Tag: "sources", Summary: "Publishes quarantined entries again and removes them.",
			Floor: access.Editor, Action: "source.write", Scope: SourceName, Request: replayRequest{}, Response: view.QuarantineReplay{}, handler: (*API).replayQuarantine,
			Also: []Status{refused("the body is not a JSON object"), missing},
		},
		{
			Method: http.MethodPost, Path: "/api/sources/:name/run", Tag: "sources", Summary: "Runs a scenario generator; the same seed gives the same rows.",
			Floor: access.Editor, Action: "source.run", Scope: SourceName, Request: view.ScenarioRequest{}, Response: view.ScenarioRun{}, handler: (*API).runScenario,
			Also: []Status{refused("every problem of the run, joined; `errors` lists them"), missing, conflict("the source is not a scenario generator")},
		},
	}
}

func ingestRoutes() []Route {
	return []Route{
		{
			Method: http.MethodPost, Path: "/api/sources/:name/events", Tag: "ingest", Summary: "Pushes rows to an ingest source, with a token or the source's ingest key.",
			Headers: []Param{{Name: IngestKeyHeader, Type: "string", Doc: "a key of this source, instead of a token"}, {Name: IdempotencyHeader, Type: "string", Doc: "a repeated key replays the first answer; the body's idempotencyKey wins"}},
			Request: PushRequest{}, Response: PushAnswer{}, Success: http.StatusAccepted, handler: (*API).push,
			Also: []Status{
				{Code: http.StatusBadRequest, Doc: "rows that do not fit the fields; `rowErrors` names them", Body: PushRefusal{}},
				{Code: http.StatusUnauthorized, Doc: "neither a valid token nor a key of this source"},
				{Code: http.StatusForbidden, Doc: "the token may not push here", Body: ErrorBody{}},
				missing,
				{Code: http.StatusConflict, Doc: "the source is not an ingest source", Body: PushRefusal{}},
				{Code: http.StatusRequestEntityTooLarge, Doc: "more rows or bytes than are accepted at once", Body: PushRefusal{}},
				{Code: http.StatusTooManyRequests, Doc: "the buffer is full; Retry-After says when to try again", Body: PushRefusal{}},
				{Code: http.StatusServiceUnavailable, Doc: "the log did not confirm the rows", Body: PushRefusal{}},
			},
		},
		{
			Method: http.MethodGet, Path: "/api/sources/:name/ingest", Tag: "ingest", Summary: "Reads the state of an ingest source's buffer.",
			Floor: access.Viewer, Action: "source.read", Scope: SourceName, Response: view.IngestStatus{}, handler: (*API).ingestStatus,
			Also: []Status{{Code: http.StatusNoContent, Doc: "not an ingest source"}, missing},
		},
		{
			Method: http.MethodGet, Path: "/api/sources/:name/ingest/keys", Tag: "ingest", Summary: "Lists the keys of an ingest source, without their secrets.",
			Floor: access.Editor, Action: "source.write", Scope: SourceName, Response: []KeyInfo{}, handler: (*API).listKeys, Also: []Status{missing},
		},
		{
			Method: http.MethodPost, Path: "/api/sources/:name/ingest/keys", Tag: "ingest", Summary: "Makes a key; its secret is shown this once.",
			Floor: access.Editor, Action: "source.write", Scope: SourceName, Request: keyRequest{}, Response: NewKey{}, handler: (*API).addKey,
			Also: []Status{refused("the body is not a JSON object"), missing, conflict("not an ingest source")},
		},
		{
			Method: http.MethodDelete, Path: "/api/sources/:name/ingest/keys/:keyId", Tag: "ingest", Summary: "Deletes a key.",
			Floor: access.Editor, Action: "source.write", Scope: SourceName, Success: http.StatusNoContent, handler: (*API).deleteKey, Also: []Status{missing},
		},
	}
}

func pipelineRoutes() []Route {
	write := []Status{refused("`name and sql are required`, or another problem of the definition"), conflict("the name is taken, or replayFrom is refused")}
	return []Route{
		{
			Method: http.MethodGet, Path: "/api/pipelines", Tag: "pipelines", Summary: "Lists the pipelines that the caller may read.",
			Floor: access.Viewer, Action: "pipeline.read", Scope: InHandler, Response: []catalog.Pipeline{}, handler: (*API).listPipelines,
		},
		{
			Method: http.MethodPost, Path: "/api/pipelines", Tag: "pipelines", Summary: "Creates a pipeline, Stopped; SQL that does not compile is kept as a draft.",
			Floor: access.Editor, Action: "pipeline.write", Scope: InHandler, Request: catalog.Pipeline{}, Response: catalog.Pipeline{}, Success: http.StatusCreated, handler: (*API).createPipeline, Also: write,
		},
		{
			Method: http.MethodPost, Path: "/api/pipelines/validate", Tag: "pipelines", Summary: "Checks a pipeline's query; problems are in the answer.",
			Floor: access.Editor, Action: "pipeline.write", Request: validateRequest{}, Response: view.PipelineValidation{}, handler: (*API).validatePipeline,
			Also: []Status{refused("the body is not a JSON object")},
		},
		{
			Method: http.MethodPost, Path: "/api/pipelines/explain", Tag: "pipelines", Summary: "Explains a query that is not stored, as a pipeline would run it.",
			Floor: access.Editor, Action: "pipeline.write", Request: validateRequest{}, Response: catalog.Explanation{}, handler: (*API).explainPipelineQuery, Query: []Param{formatText},
			Also: []Status{refused("the query does not compile")},
		},
		{
			Method: http.MethodGet, Path: "/api/pipelines/:key", Tag: "pipelines", Summary: "Reads a pipeline by id or name.",
			Floor: access.Viewer, Action: "pipeline.read", Scope: PipelineKey, Response: catalog.Pipeline{}, handler: (*API).getPipeline, Also: []Status{missing, ambiguousKey},
		},
		{
			Method: http.MethodPut, Path: "/api/pipelines/:key", Tag: "pipelines", Summary: "Replaces a pipeline's definition; null tags, metadata, sinks, dependsOn and replayFrom stay as they are.",
			Floor: access.Editor, Action: "pipeline.write", Scope: PipelineID, Request: catalog.Pipeline{}, Response: catalog.Pipeline{}, handler: (*API).updatePipeline, Also: append([]Status{missing}, write...),
		},
		{
			Method: http.MethodDelete, Path: "/api/pipelines/:key", Tag: "pipelines", Summary: "Deletes a pipeline; tables that read it go on with the rows they have.",
			Floor: access.Editor, Action: "pipeline.delete", Scope: PipelineID, Success: http.StatusNoContent, handler: (*API).deletePipeline, Also: []Status{missing},
		},
		{
			Method: http.MethodPost, Path: "/api/pipelines/:key/start", Tag: "pipelines", Summary: "Starts a pipeline; a query that does not compile answers status Failed with the error.",
			Floor: access.Editor, Action: "pipeline.control", Scope: PipelineID, Response: catalog.Pipeline{}, handler: (*API).startPipeline, Also: []Status{missing},
		},
		{
			Method: http.MethodPost, Path: "/api/pipelines/:key/stop", Tag: "pipelines", Summary: "Stops a pipeline.",
			Floor: access.Editor, Action: "pipeline.control", Scope: PipelineID, Response: catalog.Pipeline{}, handler: (*API).stopPipeline, Also: []Status{missing},
		},
		{
			Method: http.MethodGet, Path: "/api/pipelines/:key/explain", Tag: "pipelines", Summary: "Explains a pipeline: the logical and the physical plan, the rewrites, and on a running one what each operator has done; with Accept: text/plain as text.",
			Floor: access.Viewer, Action: "pipeline.read", Scope: PipelineKey, Response: catalog.Explanation{}, handler: (*API).explainPipeline, Query: []Param{formatText}, Also: []Status{missing, conflict("the query does not compile, or the key is ambiguous")},
		},
		{
			Method: http.MethodGet, Path: "/api/pipelines/:key/plan", Tag: "pipelines", Summary: "Shows the plan of a pipeline.",
			Floor: access.Viewer, Action: "pipeline.read", Scope: PipelineKey, Response: view.ExecutionPlan{}, handler: (*API).pipelinePlan, Also: []Status{missing, ambiguousKey},
		},
		{
			Method: http.MethodGet, Path: "/api/pipelines/:key/results", Tag: "pipelines", Summary: "Reads the newest result rows, oldest first; an unknown key has none.",
			Floor: access.Viewer, Action: "pipeline.read", Scope: PipelineKey, Response: []view.ResultEnvelope{}, handler: (*API).pipelineResults, Query: []Param{limitResults}, Also: []Status{ambiguousKey},
		},
		{
			Method: http.MethodGet, Path: "/api/pipelines/:key/results.csv", Tag: "pipelines", Summary: "Downloads the newest result rows as CSV.",
			Floor: access.Viewer, Action: "pipeline.read", Scope: PipelineKey, Media: "text/csv", Response: "", handler: (*API).pipelineCSV, Query: []Param{limitCSV}, Also: []Status{missing, ambiguousKey},
		},
		{
			Method: http.MethodGet, Path: "/api/pipelines/:key/late", Tag: "pipelines", Summary: "Reads the newest rows that came after their window had closed, oldest first.",
			Floor: access.Viewer, Action: "pipeline.read", Scope: PipelineKey, Response: []view.Row{}, handler: (*API).pipelineLate, Query: []Param{limitRows}, Also: []Status{missing, ambiguousKey},
		},
		{
			Method: http.MethodGet, Path: "/api/pipelines/:key/metrics", Tag: "pipelines", Summary: "Counts what a pipeline has done; an unknown key answers zeros.",
			Floor: access.Viewer, Action: "pipeline.read", Scope: PipelineKey, Response: view.PipelineMetrics{}, handler: (*API).pipelineMetrics, Also: []Status{ambiguousKey},
		},
		{
			Method: http.MethodGet, Path: "/api/pipelines/:key/replay", Tag: "pipelines", Summary: "Says what the result stream of a pipeline retains.",
			Floor: access.Viewer, Action: "pipeline.read", Scope: PipelineKey, Response: view.ReplayInfo{}, handler: (*API).pipelineReplay, Also: []Status{missing, ambiguousKey},
		},
	}
}

func tableRoutes() []Route {
	write := []Status{refused("`name and sql are required`, or another problem of the definition"), conflict("a rule of the catalog: name, parallelism, retention, history, shards, cycle, replayFrom")}
	return []Route{
		{
			Method: http.MethodGet, Path: "/api/tables", Tag: "tables", Summary: "Lists the tables that the caller may read.",
			Floor: access.Viewer, Action: "table.read", Scope: InHandler, Response: []catalog.Table{}, handler: (*API).listTables,
		},
		{
			Method: http.MethodPost, Path: "/api/tables", Tag: "tables", Summary: "Creates a table, Stopped; SQL that does not compile is kept as a draft.",
			Floor: access.Editor, Action: "table.write", Scope: InHandler, Request: catalog.Table{}, Response: catalog.Table{}, Success: http.StatusCreated, handler: (*API).createTable, Also: write,
		},
		{
			Method: http.MethodPost, Path: "/api/tables/validate", Tag: "tables", Summary: "Checks a table's query; problems are in the answer.",
			Floor: access.Editor, Action: "table.write", Request: validateRequest{}, Response: view.TableValidation{}, handler: (*API).validateTable,
			Also: []Status{refused("the body is not a JSON object")},
		},
		{
			Method: http.MethodPost, Path: "/api/tables/explain", Tag: "tables", Summary: "Explains a query that is not stored, as a table would run it.",
			Floor: access.Editor, Action: "table.write", Request: validateRequest{}, Response: catalog.Explanation{}, handler: (*API).explainTableQuery, Query: []Param{formatText},
			Also: []Status{refused("the query does not compile")},
		},
		{
			Method: http.MethodGet, Path: "/api/tables/:key", Tag: "tables", Summary: "Reads a table by id or name.",
			Floor: access.Viewer, Action: "table.read", Scope: TableKey, Response: catalog.Table{}, handler: (*API).getTable, Also: []Status{missing, ambiguousKey},
		},
		{
			Method: http.MethodPut, Path: "/api/tables/:key", Tag: "tables", Summary: "Replaces a table's definition; absent scalars take their default, null tags, metadata, sinks, shardBy, dependsOn and replayFrom stay as they are.",
			Floor: access.Editor, Action: "table.write", Scope: TableID, Request: catalog.Table{}, Response: catalog.Table{}, handler: (*API).updateTable, Also: append([]Status{missing}, write...),
		},
		{
			Method: http.MethodDelete, Path: "/api/tables/:key", Tag: "tables", Summary: "Deletes a table that no running table reads.",
			Floor: access.Editor, Action: "table.delete", Scope: TableID, Success: http.StatusNoContent, handler: (*API).deleteTable, Also: []Status{missing, conflict("running tables depend on it")},
		},
		{
			Method: http.MethodPost, Path: "/api/tables/:key/start", Tag: "tables", Summary: "Starts a table; inputs that do not run answer status Failed with the error.",
			Floor: access.Editor, Action: "table.control", Scope: TableID, Response: catalog.Table{}, handler: (*API).startTable, Also: []Status{missing},
		},
		{
			Method: http.MethodPost, Path: "/api/tables/:key/stop", Tag: "tables", Summary: "Stops a table that no running table reads.",
			Floor: access.Editor, Action: "table.control", Scope: TableID, Response: catalog.Table{}, handler: (*API).stopTable, Also: []Status{missing, conflict("running tables depend on it")},
		},
		{
			Method: http.MethodGet, Path: "/api/tables/:key/explain", Tag: "tables", Summary: "Explains a table: the logical and the physical plan, the rewrites, and on a running one what each operator has done; with Accept: text/plain as text.",
			Floor: access.Viewer, Action: "table.read", Scope: TableKey, Response: catalog.Explanation{}, handler: (*API).explainTable, Query: []Param{formatText}, Also: []Status{missing, conflict("the query does not compile, or the key is ambiguous")},
		},
		{
			Method: http.MethodGet, Path: "/api/tables/:key/plan", Tag: "tables", Summary: "Shows the plan of a table.",
			Floor: access.Viewer, Action: "table.read", Scope: TableKey, Response: view.ExecutionPlan{}, handler: (*API).tablePlan, Also: []Status{missing, ambiguousKey},
		},
		{
			Method: http.MethodGet, Path: "/api/tables/:key/rows", Tag: "tables", Summary: "Reads a page of a table at one epoch.",
			Floor: access.Viewer, Action: "table.read", Scope: TableKey, Response: view.TableRows{}, handler: (*API).tableRows,
			Query: []Param{limitRows, offsetRows, minPosition, timeoutParam}, Also: []Status{refused("a parameter cannot be read"), missing, ambiguousKey, behind},
		},
		{
			Method: http.MethodGet, Path: "/api/tables/:key/rows.csv", Tag: "tables", Summary: "Downloads rows of a table as CSV, with the weight as last column.",
			Floor: access.Viewer, Action: "table.read", Scope: TableKey, Media: "text/csv", Response: "", handler: (*API).tableCSV,
			Query: []Param{limitCSV, offsetRows}, Also: []Status{refused("a parameter cannot be read"), missing, ambiguousKey},
		},
		{
			Method: http.MethodGet, Path: "/api/tables/:key/metrics", Tag: "tables", Summary: "Counts what a table has done.",
			Floor: access.Viewer, Action: "table.read", Scope: TableKey, Response: view.TableMetrics{}, handler: (*API).tableMetrics, Also: []Status{missing, ambiguousKey},
		},
		{
			Method: http.MethodGet, Path: "/api/tables/:key/replay", Tag: "tables", Summary: "Says what the journal of a table retains.",
			Floor: access.Viewer, Action: "table.read", Scope: TableKey, Response: view.ReplayInfo{}, handler: (*API).tableReplay, Also: []Status{missing, ambiguousKey},
		},
	}
}

func queryRoutes() []Route {
	return []Route{
		{
			Method: http.MethodPost, Path: "/api/query/rows", Tag: "query", Summary: "Reads several tables at one epoch.",
			Floor: access.Viewer, Action: "table.read", Scope: InHandler, Request: rowsRequest{}, Response: view.RowsAtEpoch{}, handler: (*API).queryRows,
			Also: []Status{refused("no tables are named, or the body cannot be read"), {Code: http.StatusNotFound, Doc: "a table does not exist; the text names it", Body: ErrorBody{}}, ambiguousKey},
		},
		{
			Method: http.MethodGet, Path: "/api/sql/functions", Tag: "query", Summary: "Lists what SQL can call.",
			Floor: access.Viewer, Action: "catalog.read", Response: view.FunctionCatalog{}, handler: (*API).functions,
		},
	}
}

func metaRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/api/environments", Tag: "meta", Summary: "Lists the environments.",
			NoEnvironment: true, Floor: access.Viewer, Action: "catalog.read", Response: []view.Environment{}, handler: (*API).environments,
		},
		{
			Method: http.MethodGet, Path: "/api/meta/instance", Tag: "meta", Summary: "Says who this server is.",
			NoEnvironment: true, Response: view.InstanceInfo{}, handler: (*API).instance,
		},
		{
			Method: http.MethodGet, Path: "/api/meta/lineage", Tag: "meta", Summary: "Shows which entity reads which, of those the caller may read.",
			Floor: access.Viewer, Scope: InHandler, Response: view.Lineage{}, handler: (*API).lineage,
		},
		{
			Method: http.MethodGet, Path: "/healthz", Tag: "meta", Summary: "Answers 200 while the server works.",
			NoEnvironment: true, Response: HealthAnswer{}, handler: (*API).healthz,
			Also: []Status{{Code: http.StatusServiceUnavailable, Doc: "the server is starting", Body: HealthAnswer{}}},
		},
		{
			Method: http.MethodGet, Path: "/api/healthz", Tag: "meta", Summary: "Is /healthz under the prefix of the API.",
			NoEnvironment: true, Response: HealthAnswer{}, handler: (*API).healthz,
			Also: []Status{{Code: http.StatusServiceUnavailable, Doc: "the server is starting", Body: HealthAnswer{}}},
		},
		{
			Method: http.MethodGet, Path: "/readyz", Tag: "meta", Summary: "Answers 200 when every check passes; else the checks that fail.",
			NoEnvironment: true, Response: ReadyAnswer{}, handler: (*API).readyz,
			Also: []Status{{Code: http.StatusServiceUnavailable, Doc: "starting, draining, or a check fails", Body: ReadyAnswer{}}},
		},
		{
			Method: http.MethodGet, Path: "/metrics", Tag: "meta", Summary: "Shows the metrics in the Prometheus text format.",
			NoEnvironment: true, Media: "text/plain", Response: "", handler: (*API).prometheus,
		},
		{
			Method: http.MethodGet, Path: "/openapi/v1.json", Tag: "meta", Summary: "Is this document.",
			NoEnvironment: true, Response: map[string]any{}, handler: (*API).openapi,
		},
	}
}
