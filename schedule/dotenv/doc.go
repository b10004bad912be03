// Package dotenv reads the files of env_file: NAME=value lines as Laravel, Ruby and Node write them.
//
// It runs nothing and expands only ${NAME}. No error repeats what a file holds, which may be secret.
//
// It is our own: joho/godotenv drops the $27 of SECRET=xTvDqw$27 and quotes the file in its errors, which would put
// passwords into the history. The tests read a typical file with both, and say when that has changed.
package dotenv
