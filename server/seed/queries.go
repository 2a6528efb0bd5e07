package seed

import "github.com/streamsforge/streamsforge/server/catalog"

// PipelineEntry is one pipeline of the demo world, and whether it runs from the start.
type PipelineEntry struct {
	catalog.Pipeline
	Running bool
}

// TableEntry is one table of the demo world, and whether it runs from the start.
type TableEntry struct {
	catalog.Table
	Running bool
}

// Pipelines are the pipelines of the demo world, in the order in which they are created.
func Pipelines() []PipelineEntry {
	return []PipelineEntry{
		pipeline("VWAP by symbol (5s)", true,
			"SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap, COUNT(*) AS trades FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 5 SECONDS)"),
		pipeline("Trade vs quote spread", true,
			"SELECT t.symbol, t.price, q.bid, q.ask, t.price - q.bid AS above_bid FROM trades t JOIN quotes q WITHIN 5 SECONDS ON t.symbol = q.symbol WHERE t.side = 'BUY'"),
		pipeline("Hot symbol VWAP (nested)", true,
			"WITH hot AS (SELECT symbol FROM trades GROUP BY symbol WINDOW TUMBLING(SIZE 10 SECONDS)) "+
				"SELECT t.symbol, SUM(t.price * t.qty) / SUM(t.qty) AS vwap, COUNT(*) AS trades FROM trades t "+
				"WHERE t.symbol IN (SELECT symbol FROM hot) GROUP BY t.symbol WINDOW TUMBLING(SIZE 5 SECONDS)"),
		pipeline("Order bursts (session)", false,
			"SELECT symbol, COUNT(*) AS orders, SUM(qty) AS total_qty FROM orders GROUP BY symbol WINDOW SESSION(GAP 3 SECONDS)"),
		pipeline("Unfilled orders (LEFT JOIN)", false,
			"SELECT o.orderId, o.symbol, o.qty, t.price FROM orders o LEFT JOIN trades t WITHIN 10 SECONDS ON o.symbol = t.symbol WHERE o.status = 'NEW'"),
		pipeline("JSON payload join", false,
			"SELECT e.eventType, e.payload -> 'user' ->> 'tier' AS tier, e.payload -> 'order' ->> 'symbol' AS symbol, t.price "+
				"FROM app_events e JOIN trades t WITHIN 10 SECONDS ON e.payload -> 'order' ->> 'symbol' = t.symbol"),
		pipeline("fill-rate-5s", true,
			"SELECT symbol, COUNT(*) AS fills, SUM(filled_qty) AS filled FROM order_events WHERE stage = 'PART_FILL' OR stage = 'FILLED' "+
				"GROUP BY symbol WINDOW TUMBLING(SIZE 5 SECONDS)"),
	}
}

// Tables are the tables of the demo world, in the order in which they are created: a table
// stands after those it reads.
func Tables() []TableEntry {
	positions := table("positions", true,
		"SELECT symbol, COUNT(*) AS trades, SUM(qty) AS total_qty, AVG(price) AS avg_price, MIN(price) AS low, MAX(price) AS high FROM trades GROUP BY symbol")
	positions.SearchEnabled, positions.SearchMode = true, "Fuzzy"

	states := table("order_states", true,
		"SELECT order_id, symbol, side, stage, stage_rank, stage_ts, qty, filled_qty, px FROM order_events LATEST BY (order_id)")
	states.HistoryEnabled, states.HistoryMode, states.HistoryLimit, states.RetentionMaxRows = true, "LastN", 8, 2000

	return []TableEntry{
		positions,
		table("gold_tier_orders", false,
			"SELECT e.payload -> 'order' ->> 'symbol' AS symbol, COUNT(*) AS orders FROM app_events e "+
				"WHERE e.payload -> 'user' ->> 'tier' = 'gold' GROUP BY e.payload -> 'order' ->> 'symbol'"),
		table("hot_symbols", false,
			"SELECT p.symbol, p.trades, p.avg_price FROM positions p WHERE p.trades > 50"),
		table("leg_exposure", true,
			"SELECT l ->> 'ccy' AS ccy, SUM(l -> 'notional') AS notional, COUNT(*) AS legs FROM structures s, UNNEST(s.legs) AS l GROUP BY l ->> 'ccy'"),
		states,
	}
}

func pipeline(name string, running bool, sql string) PipelineEntry {
	p := catalog.NewPipeline()
	p.Name, p.SQL = name, sql
	return PipelineEntry{Pipeline: p, Running: running}
}

func table(name string, running bool, sql string) TableEntry {
	t := catalog.NewTable()
	t.Name, t.SQL = name, sql
	return TableEntry{Table: t, Running: running}
}
