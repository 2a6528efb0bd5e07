package agg
