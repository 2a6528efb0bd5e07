package runtime

import (
	"context"
	"fmt"
)

// A pipeline that looks up tables sees, with the rows of an epoch, the tables as they are at that epoch. The retained
// rows that it begins with are older than any state of the tables that is known: they see the tables as they are at
// the epoch at which the build joins. That epoch is on record (record.Built), so a build without a checkpoint sees
// the same.

// buildLookups takes the tables at an epoch and then the rows of the sources up to it.
func (w *worker) buildLookups(ctx context.Context, p *progress) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		head, _ := w.env.clk.At()
		epoch, err := w.commonEpoch(ctx, head.Epoch)
		if err != nil {
			return err
		}
		to, tick, ok := w.cutAt(epoch)
		if !ok {
			continue // The clock has moved on since; look again.
		}
		if ok, err = w.takeTables(ctx, epoch); err != nil {
			return err
		} else if !ok {
			continue
		}
		left := w.messagesTo(to)
		p = p.more(left)
		w.stats.build.Store(p)
		if err := w.takeHistory(ctx, to, w.held.add, func(rows int) error {
			p = p.read(rows, w.messagesDone(to, left))
			w.stats.build.Store(p)
			w.stats.rowsIn.Store(w.rowsIn)
			return w.breathe(ctx)
		}); err != nil {
			return err
		}
		return w.placeAt(ctx, tick)
	}
}

// takeTables gives the flow the rows that the other inputs have at an epoch; false when one of them no longer knows.
func (w *worker) takeTables(ctx context.Context, epoch uint64) (bool, error) {
	states, ok, err := w.statesAt(ctx, epoch)
	if err != nil || !ok {
		return false, err
	}
	w.takeStates(states)
	return true, nil
}

// saveRenewed writes a checkpoint when a table that a pipeline looks up has been replaced by a new version, and waits for
// it: the difference between the two versions stands in no journal, so an older checkpoint cannot go on over the swap,
// and the results so far were looked up in rows that are gone. The clock hears of the step only afterwards.
func (w *worker) saveRenewed() {
	if !w.renewed || w.silent {
		return
	}
	w.renewed = false
	if w.def.pipeline {
		w.finishSaving()
		w.save()
		w.finishSaving()
	}
}

// tablesForgotten says why a pipeline without a checkpoint cannot be computed again.
func (w *worker) tablesForgotten(epoch uint64) error {
	for i := range w.inputs {
		if in := &w.inputs[i]; in.ent != nil {
			return &missingError{input: in.name, from: 1, to: 1, why: fmt.Sprintf(
				"its rows at epoch %d, which the results were looked up in, are no longer in its journal, and no checkpoint reflects them", epoch)}
		}
	}
	return nil
}
