package types

// The conversions of SQL: TO_LONG, TO_DOUBLE, TO_BOOL, TO_TIMESTAMP, TO_STRING (and CAST, which is the same). They
// are total: what does not convert is NULL. The functions on bytes and numbers (TextToLong, JsonToLong,
// DoubleToLong, ...) are the same rules without boxing; operators and the row decoder call those.

// Convert converts a value as CAST(v AS to) does; to is not Json.
func Convert(v Value, to Kind) Value {
	if v.IsNull() {
		return Null(to)
	}
	switch to {
	case Long:
		if i, ok := v.toLong(); ok {
			return LongOf(i)
		}
	case Double:
		if f, ok := v.toDouble(); ok {
			return DoubleOf(f)
		}
	case Bool:
		if b, ok := v.toBool(); ok {
			return BoolOf(b)
		}
	case Timestamp:
		if ms, ok := v.toTimestamp(); ok {
			return TimestampOf(ms)
		}
	case String:
		if text, ok := v.AppendText(nil); ok {
			return StringOf(string(text))
		}
	case Json:
		if v.kind == Json {
			return v
		}
	}
	return Null(to)
}

func (v Value) toLong() (int64, bool) {
	switch v.kind {
	case String:
		return TextToLong([]byte(v.s))
	case Json:
		return JsonToLong([]byte(v.s))
	case Double:
		return DoubleToLong(v.f)
	default:
		return v.i, true
	}
}

func (v Value) toDouble() (float64, bool) {
	switch v.kind {
	case String:
		return TextToDouble([]byte(v.s))
	case Json:
		return JsonToDouble([]byte(v.s))
	case Double:
		return v.f, true
	default:
		return float64(v.i), true
	}
}

func (v Value) toBool() (b, ok bool) {
	switch v.kind {
	case String:
		return TextToBool([]byte(v.s)), true
	case Json:
		return JsonToBool([]byte(v.s))
	case Double:
		return v.f != 0, true
	default:
		return v.i != 0, true
	}
}

func (v Value) toTimestamp() (int64, bool) {
	switch v.kind {
	case String:
		return TextToTimestamp([]byte(v.s))
	case Json:
		return JsonToTimestamp([]byte(v.s))
	case Bool:
		return 0, false
	default:
		return v.toLong()
	}
}

// AppendText appends the value's text as TO_STRING gives it; ok is false for NULL. A Timestamp is its number: only
// TO_STRING(TO_TIMESTAMP(x)) is ISO-8601 text (AppendTime), which the planner knows and the value does not.
func (v Value) AppendText(dst []byte) (out []byte, ok bool) {
	if !v.valid {
		return dst, false
	}
	switch v.kind {
	case String:
		return append(dst, v.s...), true
	case Json:
		return AppendJsonText(dst, []byte(v.s))
	case Double:
		return AppendDouble(dst, v.f), true
	case Bool:
		return AppendBool(dst, v.i != 0), true
	default:
		return AppendLong(dst, v.i), true
	}
}

// TextToBool converts text as TO_BOOL does: "", "0" and "false" in any case are false, all other text is true.
func TextToBool(text []byte) bool {
	switch len(text) {
	case 0:
		return false
	case 1:
		return text[0] != '0'
	case 5:
		for i, c := range text {
			if c|0x20 != "false"[i] {
				return true
			}
		}
		return false
	}
	return true
}
