// Package pricing is the sample plugin of functions: prices and risks of plain options, bonds, swaps and forwards.
// Importing it registers them.
//
// Rates and volatilities are fractions a year (0.05 is 5 %), times are years. Options and forwards discount
// continuously; bonds by their yield, compounded as often as they pay; swaps have yearly payments on a flat curve
// with yearly compounding. What has no price (a negative time, a price of zero, an infinity) is NULL.
//
// The formulas are those of John C. Hull, "Options, Futures, and Other Derivatives": Black-Scholes-Merton with a
// dividend yield and its Greeks, bond pricing and duration, swap valuation, and the forward exchange rate.
package pricing
