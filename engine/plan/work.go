package plan

import "strconv"

// String prints the numbers of a running operator: "in=5 out=3 bytes=640 time=12us".
func (w *Work) String() string {
	return "in=" + strconv.FormatInt(w.RowsIn, 10) + " out=" + strconv.FormatInt(w.RowsOut, 10) +
		" bytes=" + strconv.FormatInt(w.StateBytes, 10) + " time=" + strconv.FormatInt(w.TimeNs/1000, 10) + "us"
}

// Add adds what another operator has done.
func (w *Work) Add(o Work) {
	w.RowsIn += o.RowsIn
	w.RowsOut += o.RowsOut
	w.StateBytes += o.StateBytes
	w.TimeNs += o.TimeNs
}
