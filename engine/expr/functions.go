package expr

import (
	"github.com/streamsforge/streamsforge/engine/types"
)

// functions is the table, sorted by name. Documentation, completions and the REST catalog read it.
var functions []*Function

var byName map[string]*Function

// The table is set in init because binders look other entries up.
func init() {
	functions = []*Function{
		{Name: "!=", Signature: "a != b", Result: "Bool", Doc: "True when both sides differ; NULL when one is NULL.",
			Operator: true, Min: 2, Max: 2, precedence: precCompare, bind: bindCompare, build: buildCompare(opNE)},
		{Name: "%", Signature: "a % b", Result: "Long for Long, else Double", Doc: "Remainder with the sign of a; NULL for b = 0.",
			Operator: true, Min: 2, Max: 2, precedence: precMultiply, bind: bindArithmetic, build: buildArithmetic(opMod)},
		{Name: "*", Signature: "a * b", Result: "Long for Long, else Double", Doc: "Product; NULL when a Long result leaves 64 bits.",
			Operator: true, Min: 2, Max: 2, precedence: precMultiply, bind: bindArithmetic, build: buildArithmetic(opMul)},
		{Name: "+", Signature: "a + b", Result: "Long for Long, else Double", Doc: "Sum; NULL when a Long result leaves 64 bits.",
			Operator: true, Min: 2, Max: 2, precedence: precAdd, bind: bindArithmetic, build: buildArithmetic(opAdd)},
		{Name: "-", Signature: "a - b, -a", Result: "Long for Long, else Double", Doc: "Difference, or the negated number; NULL when a Long result leaves 64 bits.",
			Operator: true, Min: 1, Max: 2, precedence: precAdd, bind: bindArithmetic, build: buildMinus},
		{Name: "->", Signature: "x -> 'key', x -> 0", Result: "Json", Doc: "Member or element of a Json value, also by a computed key; NULL when absent.",
			Operator: true, Min: 2, Max: 2, precedence: precPath, bind: bindPath(types.Json), build: buildPath(false)},
		{Name: "->>", Signature: "x ->> 'key', x ->> 0", Result: "String", Doc: "Member or element of a Json value as text, also by a computed key; NULL when absent.",
			Operator: true, Min: 2, Max: 2, precedence: precPath, bind: bindPath(types.String), build: buildPath(true)},
		{Name: "/", Signature: "a / b", Result: "Double", Doc: "Quotient, always Double; NULL for b = 0.",
			Operator: true, Min: 2, Max: 2, precedence: precMultiply, bind: bindDivide, build: buildArithmetic(opDiv)},
		{Name: "<", Signature: "a < b", Result: "Bool", Doc: "True when a is smaller; NULL for values of kinds that have no order.",
			Operator: true, Min: 2, Max: 2, precedence: precCompare, bind: bindCompare, build: buildCompare(opLT)},
		{Name: "<=", Signature: "a <= b", Result: "Bool", Doc: "True when a is smaller or equal; NULL for values of kinds that have no order.",
			Operator: true, Min: 2, Max: 2, precedence: precCompare, bind: bindCompare, build: buildCompare(opLE)},
		{Name: "<>", Signature: "a <> b", Result: "Bool", Doc: "The same as !=.",
			Operator: true, Min: 2, Max: 2, precedence: precCompare, bind: bindCompare, build: buildCompare(opNE)},
		{Name: "=", Signature: "a = b", Result: "Bool", Doc: "True when both sides are equal; numbers of any kind compare by value.",
			Operator: true, Min: 2, Max: 2, precedence: precCompare, bind: bindCompare, build: buildCompare(opEQ)},
		{Name: ">", Signature: "a > b", Result: "Bool", Doc: "True when a is larger; NULL for values of kinds that have no order.",
			Operator: true, Min: 2, Max: 2, precedence: precCompare, bind: bindCompare, build: buildCompare(opGT)},
		{Name: ">=", Signature: "a >= b", Result: "Bool", Doc: "True when a is larger or equal; NULL for values of kinds that have no order.",
			Operator: true, Min: 2, Max: 2, precedence: precCompare, bind: bindCompare, build: buildCompare(opGE)},
		{Name: "ABS", Signature: "ABS(x)", Result: "Long for Long, else Double", Doc: "Absolute value; NULL when x is not a number.",
			Min: 1, Max: 1, bind: bindAbs, build: buildAbs},
		{Name: "AND", Signature: "a AND b", Result: "Bool", Doc: "Three-valued: FALSE AND NULL is FALSE.",
			Operator: true, Min: 2, Max: 2, precedence: precAnd, bind: bindLogic, build: buildAnd},
		{Name: "BETWEEN", Signature: "x BETWEEN low AND high", Result: "Bool", Doc: "The same as x >= low AND x <= high.",
			Operator: true, Min: 3, Max: 3, precedence: precCompare, bind: bindBetween},
		{Name: "COALESCE", Signature: "COALESCE(a, ...)", Result: "kind of a", Doc: "The first argument that is not NULL.",
			Min: 1, Max: -1, bind: bindCoalesce, build: buildCoalesce},
		{Name: "IF", Signature: "IF(condition, a, b)", Result: "common kind of a and b", Doc: "a when the condition is TRUE, else b.",
			Min: 3, Max: 3, bind: bindIf},
		{Name: "GREATEST", Signature: "GREATEST(a, ...)", Result: "common kind", Doc: "The largest argument that is not NULL.", Example: "GREATEST(1, 3, NULL) = 3",
			Min: 1, Max: -1, bind: bindExtreme, build: buildExtreme(1)},
		{Name: "LEAST", Signature: "LEAST(a, ...)", Result: "common kind", Doc: "The smallest argument that is not NULL.", Example: "LEAST(1.5, 3, NULL) = 1.5",
			Min: 1, Max: -1, bind: bindExtreme, build: buildExtreme(-1)},
		{Name: "MOD", Signature: "MOD(a, b)", Result: "Long for Long, else Double", Doc: "The same as a % b: remainder with the sign of a; NULL for b = 0.", Example: "MOD(-7, 3) = -1",
			Min: 2, Max: 2, bind: func(_ *Function, args []Expr) (Expr, error) { return mustLookup("%").Bind(args) }},
		{Name: "NULLIF", Signature: "NULLIF(a, b)", Result: "kind of a", Doc: "NULL when both are equal, else a.", Example: "NULLIF(1, 1) IS NULL",
			Min: 2, Max: 2, bind: bindNullIf},
		{Name: "IN", Signature: "x IN (a, ...)", Result: "Bool", Doc: "True when x equals one of the values; NULL when none does and one is NULL.",
			Operator: true, Min: 2, Max: -1, precedence: precCompare, bind: bindIn, build: buildIn},
		{Name: "IS NOT NULL", Signature: "x IS NOT NULL", Result: "Bool", Doc: "True when x is not NULL, else false.",
			Operator: true, Min: 1, Max: 1, precedence: precCompare, bind: fixed(types.Bool), build: buildIsNull(false)},
		{Name: "IS NULL", Signature: "x IS NULL", Result: "Bool", Doc: "True when x is NULL, else false.",
			Operator: true, Min: 1, Max: 1, precedence: precCompare, bind: fixed(types.Bool), build: buildIsNull(true)},
		{Name: "LIKE", Signature: "x LIKE pattern [ESCAPE c]", Result: "Bool", Doc: "Matches the whole text; % stands for any text, _ for one character.",
			Operator: true, Min: 2, Max: 3, precedence: precCompare, bind: bindLike, build: buildLike},
		{Name: "LOWER", Signature: "LOWER(s)", Result: "String", Doc: "Text in lower case, the same in every locale; NULL when s is not text.",
			Min: 1, Max: 1, bind: fixed(types.String), build: buildLower},
		{Name: "NOT", Signature: "NOT a", Result: "Bool", Doc: "Three-valued: NOT NULL is NULL.",
			Operator: true, Min: 1, Max: 1, precedence: precNot, bind: bindLogic, build: buildNot},
		{Name: "OR", Signature: "a OR b", Result: "Bool", Doc: "Three-valued: TRUE OR NULL is TRUE.",
			Operator: true, Min: 2, Max: 2, precedence: precOr, bind: bindLogic, build: buildOr},
		{Name: "ROUND", Signature: "ROUND(x [, digits])", Result: "kind of x", Doc: "Rounds half away from zero; digits below 0 act as 0.",
			Min: 1, Max: 2, bind: bindRound, build: buildRound},
		{Name: "TO_BOOL", Signature: "TO_BOOL(x)", Result: "Bool", Doc: "A number is true unless 0; text true and false in any case, empty text and 0 are false, other text is true.",
			Min: 1, Max: 1, bind: fixed(types.Bool), build: buildConvert},
		{Name: "TO_DOUBLE", Signature: "TO_DOUBLE(x)", Result: "Double", Doc: "A number, a Bool as 1 or 0, or numeric text; else NULL.",
			Min: 1, Max: 1, bind: fixed(types.Double), build: buildConvert},
		{Name: "TO_LONG", Signature: "TO_LONG(x)", Result: "Long", Doc: "A Double is truncated, a Bool is 1 or 0, integer text is read; else NULL.",
			Min: 1, Max: 1, bind: fixed(types.Long), build: buildConvert},
		{Name: "TO_STRING", Signature: "TO_STRING(x)", Result: "String", Doc: "The value as text; TO_STRING(TO_TIMESTAMP(x)) is ISO-8601 in UTC.",
			Min: 1, Max: 1, bind: fixed(types.String), build: buildConvert},
		{Name: "TO_TIMESTAMP", Signature: "TO_TIMESTAMP(x)", Result: "Timestamp", Doc: "Milliseconds since the epoch as number or text, or ISO-8601 text (UTC without a zone); else NULL.",
			Min: 1, Max: 1, bind: fixed(types.Timestamp), build: buildConvert},
		{Name: "UPPER", Signature: "UPPER(s)", Result: "String", Doc: "Text in upper case, the same in every locale; NULL when s is not text.",
			Min: 1, Max: 1, bind: fixed(types.String), build: buildUpper},
		{Name: "||", Signature: "a || b", Result: "String", Doc: "Both texts one after the other; NULL when one is NULL.",
			Operator: true, Min: 2, Max: 2, precedence: precAdd, bind: bindConcat, build: buildConcat},
	}
	addScalars(stringFunctions, mathFunctions, timeFunctions, regexpFunctions, jsonFunctions)
	byName = make(map[string]*Function, len(functions))
	for _, f := range functions {
		byName[f.Name] = f
		for _, a := range f.Aliases {
			byName[a] = f
		}
	}
}
