// Package connectorstest holds what tests of source kinds share: an acceptance suite that every kind runs, and fakes
// of the clock, the log and the cursor store.
//
//	func TestAcceptance(t *testing.T) {
//		connectorstest.Run(t, connectorstest.Case{Kind: "generator", Definition: def})
//	}
package connectorstest
