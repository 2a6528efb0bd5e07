// Package generator is the source kind that makes up rows: the market data of the demo world, rows for any declared
// schema, and seed-exact scenarios on request.
//
// A profile is a pure function of a random source and the time of the row; Rows is the one way to run it. The Source
// around it only paces: a tick lasts 1/eventsPerSecond, clamped to 1 ms .. 10 s, and a tick that owes several rows
// puts them into one NDJSON message. Scenario rows never come from a tick: a Runner makes them when asked.
//
//	rows, err := generator.NewRows("trades", nil, rand.NewPCG(1, 2))
//	line := rows.Append(nil, nowMs) // {"_ts":...,"symbol":"AAPL","price":187.21,...}
package generator
