package view

// Environment is one partition of the catalog.
type Environment struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	CreatedAtMs int64  `json:"createdAtMs"`
	CreatedBy   string `json:"createdBy"`
	EntityCount int    `json:"entityCount"` // -1: unreadable
}

// InstanceInfo says who this server is.
type InstanceInfo struct {
	InstanceID      string            `json:"instanceId"`
	Name            string            `json:"name"`
	Flavor          string            `json:"flavor"`
	Version         string            `json:"version"`
	Endpoints       Endpoints         `json:"endpoints"`
	Capabilities    []string          `json:"capabilities"`
	Plugins         []string          `json:"plugins"`
	PluginVersions  map[string]string `json:"pluginVersions"`
	CatalogCounts   CatalogCounts     `json:"catalogCounts"`
	CatalogWarnings []string          `json:"catalogWarnings"`
	StartedAtMs     int64             `json:"startedAtMs"`
}

// Endpoints are the advertised addresses; Grpc is "" while that port is not open.
type Endpoints struct {
	Rest string `json:"rest"`
	Grpc string `json:"grpc"`
}

// CatalogCounts counts the definitions of the default environment.
type CatalogCounts struct {
	Sources   int `json:"sources"`
	Pipelines int `json:"pipelines"`
	Tables    int `json:"tables"`
}

// Lineage is the graph of stored inputs.
type Lineage struct {
	Nodes []LineageNode `json:"nodes"`
	Edges []LineageEdge `json:"edges"`
}

// LineageNode is one entity.
type LineageNode struct {
	Kind string  `json:"kind"`
	Name string  `json:"name"`
	ID   *string `json:"id"`
}

// LineageEdge says that To reads From.
type LineageEdge struct {
	FromKind string `json:"fromKind"`
	FromName string `json:"fromName"`
	ToKind   string `json:"toKind"`
	ToName   string `json:"toName"`
}

// Check is one readiness check.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	// Progress is a text for people while the check is not OK yet, for example "3 of 5 tables restored".
	Progress string `json:"progress,omitempty"`
}
