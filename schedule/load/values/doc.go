// Package values reads the values of keys of schedule.yaml one at a time: names, zones, times of the day, days, commands, variables.
//
// Each reader takes what is needed to know whether a value is right alone. It returns false where it is not, and the problem
// is recorded with the document.Reader then, at the value and with the key that is being read. What depends on other keys, on
// the level that is inherited from or on the files around it is up to package load.
package values
