package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sched/mutex"
	"sched/mutex/sqlstore"
	"sched/testing/machine"
	"sched/testing/redistest"
	"sched/testing/sqltest"
	"sched/testing/storetest"
)

// proxyTo starts a proxy before a database, and returns the URL through it.
func proxyTo(t *testing.T, server *sqltest.Server) (*redistest.Proxy, string) {
	proxy := redistest.StartProxy(t, &redistest.Server{Address: server.Address})
	return proxy, strings.Replace(server.URL(""), server.Address, strings.TrimPrefix(proxy.URL, "redis://"), 1)
}

// refused checks that an error is a *StoreError with these words.
func refused(t *testing.T, err error, words string) {
	t.Helper()
	var down *mutex.StoreError
	if !errors.As(err, &down) || !strings.Contains(down.Text, words) {
		t.Errorf("it does not say %q: %v", words, err)
	}
	if down != nil && strings.Contains(down.Text+down.Hint, "secret") {
		t.Errorf("it has the password: %v", err)
	}
}

func TestAConnectionThatBreaksOnceCostsNothing(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		for _, cut := range []redistest.Cut{redistest.AtRequest, redistest.AtAnswer} {
			for n, last := 0, 1; n < last; n++ {
				proxy, url := proxyTo(t, server)
				proxy.Set(redistest.Fault{Cut: cut, After: n})
				t.Run(fmt.Sprintf("%d, %d", cut, n), func(t *testing.T) {
					useAll(t, open(t, fmt.Sprintf("cut-%d-%d", cut, n), url))
				})
				last = proxy.Requests()
			}
		}
	})
}

func TestADatabaseThatIsSilentIsWaitedForOnceForAllSlots(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		s := open(t, "shop", server.URL(""))
		useAll(t, s)
		server.Pause()
		begun := time.Now()
		mutex.Concurrently(300, func(i int) {
			refused(t, s.Claim(ctx, fmt.Sprint("slot-", i), time.Now(), holder("run-1")), "does not answer within 2s")
		})
		if waited := time.Since(begun); waited > machine.Within(5*time.Second) {
			t.Errorf("it waited for %s", waited)
		}
		begun = time.Now()
		s.Close()
		if took := time.Since(begun); took > machine.Within(time.Second) {
			t.Errorf("Close takes %s", took)
		}
		server.Resume()
		s = open(t, "shop", server.URL(""))
		until(t, "it is asked again", func() bool { return s.Claim(ctx, "slot", time.Now(), holder("run-1")) == nil })
	})
}

// Close undoes an attempt that a paused server executes after the caller gave it up. It undoes
// nothing else.
func TestALateAttemptIsUndone(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		stores := map[string]mutex.Store{}
		for _, name := range []string{"early", "late"} {
			stores[name] = open(t, "shop", server.URL(""))
			stores[name].Now(ctx) // connects, so the server has the statement of the attempt when it goes on
		}
		if err := stores["early"].Claim(ctx, "early", time.Now(), holder("run-1")); err != nil {
			t.Fatal(err)
		}
		server.Pause()
		for name, s := range stores {
			short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			refused(t, s.Claim(short, name, time.Now(), holder("run-1")), "does not answer")
			cancel()
		}
		server.Resume()
		for _, s := range stores {
			s.Close()
		}
		other := open(t, "shop", server.URL(""))
		heldBy(t, other.Claim(ctx, "early", time.Now(), holder("run-2")), "run-1")
		until(t, "the late claim is gone",
			func() bool { return other.Claim(ctx, "late", time.Now(), holder("run-2")) == nil })
	})
}

// A process asked the database to remove its value, and the database does that after a later
// process has asked again for the same run.
func TestALateWithdrawalTakesAwayNoClaimThatWasAskedForAgain(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		claim := func(run string) error {
			return open(t, "shop", server.URL("")).Claim(ctx, "slot", time.Now(), holder(run))
		}
		if err := claim("run-1"); err != nil {
			t.Fatal(err)
		}
		server.Exec("CREATE TABLE earlier AS SELECT value FROM sched_entry")
		if err := claim("run-1"); err != nil {
			t.Fatal(err)
		}
		server.Exec("DELETE FROM sched_entry WHERE value IN (SELECT value FROM earlier)")
		heldBy(t, claim("run-2"), "run-1")
	})
}

// A connection that is made after the attempt was given up is not used for the attempt.
func TestAnAttemptThatWasGivenUpIsNotSentLater(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		open(t, "shop", server.URL("")).Now(ctx) // makes the tables
		s := open(t, "shop", server.URL(""))
		server.Pause()
		begun := time.Now()
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		refused(t, s.Claim(short, "late", time.Now(), holder("run-1")), "does not answer")
		server.Resume()
		until(t, "it is up", func() bool { return s.Claim(ctx, "next", time.Now(), holder("run-1")) == nil })
		until(t, "two seconds are over, which an operation may take",
			func() bool { return time.Since(begun) > 2*time.Second })
		if claims, err := s.Claims(ctx, "late", "next"); err != nil || len(claims) != 1 ||
			claims["next"].Run != "run-1" {
			t.Errorf("%v, %v", claims, err)
		}
	})
}

func TestARestartedDatabaseHasForgottenNothing(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		s := open(t, "shop", server.URL(""))
		lock := acquire(t, s, "backup", "run-1")
		if err := s.Claim(ctx, "slot", time.Now(), holder("run-1")); err != nil {
			t.Fatal(err)
		}
		server.Restart()
		if err := lock.Renew(ctx); err != nil {
			t.Errorf("a process with old connections: %v", err)
		}
		next := open(t, "shop", server.URL(""))
		_, err := next.Acquire(ctx, "backup", holder("run-2"))
		heldBy(t, err, "run-1")
		heldBy(t, next.Claim(ctx, "slot", time.Now(), holder("run-2")), "run-1")
		server.Kill()
		refused(t, lock.Renew(ctx), "does not answer: connection refused")
	})
}

// A lease that ended is still the run's if no other run took it. If another run took it, the error
// names that run.
func TestALeaseThatEndedIsLostOnlyToAnotherRun(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		s := open(t, "shop", server.URL(""))
		lock := acquire(t, s, "backup", "run-1")
		server.Exec("UPDATE sched_entry SET ends = 1")
		if err := lock.Renew(ctx); err != nil {
			t.Errorf("nobody took it: %v", err)
		}
		server.Exec("UPDATE sched_entry SET ends = 1")
		second := acquire(t, s, "backup", "run-2")
		var lost *mutex.LostError
		if err := lock.Renew(ctx); !errors.As(err, &lost) || lost.Broken || lost.Holder.Run != "run-2" {
			t.Errorf("the loss is not noticed: %v", err)
		}
		second.Release(ctx)
		if err := lock.Renew(ctx); !errors.As(err, &lost) || lost.Broken || lost.Holder.Run != "" {
			t.Errorf("it was free between: %v", err)
		}
		_, err := s.Acquire(ctx, "backup", holder("run-2"))
		heldBy(t, err, "run-1")
	})
}

func TestGarbageIsHeldByAnUnknownRun(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		s := open(t, "shop", server.URL(""))
		for _, kind := range []string{"lock", "claim"} {
			s.Now(ctx)
			server.Exec("INSERT INTO sched_entry VALUES ('shop', '" + kind +
				"/task', 'run-1', 'garbage', 99999999999999)")
		}
		_, err := s.Acquire(ctx, "task", holder("run-1"))
		heldBy(t, err, "")
		heldBy(t, s.Claim(ctx, "task", time.Now(), holder("run-1")), "")
		if _, err := s.Break(ctx, "task"); err != nil {
			t.Error(err)
		}
		acquire(t, s, "task", "run-1")
	})
}

func TestBreakLeavesTheLockOfALaterRunAlone(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		proxy, url := proxyTo(t, server)
		slow := open(t, "shop", url)
		slow.Now(ctx) // it connects, and makes the tables
		proxy.Set(redistest.Fault{Delay: 300 * time.Millisecond})
		storetest.BreakLate(t, slow, open(t, "shop", server.URL("")), proxy.Requests)
	})
}

// raceForSlots has servers claim the same slots, each in another order, and fails when a slot was
// not taken once. A server that gets no answer asks again. Each is how a server calls the claims of
// its slots, which call claimed when they are decided.
func raceForSlots(t *testing.T, server *sqltest.Server, servers, slots int, each func(int, func(int)), claimed func()) {
	won := make([]atomic.Int32, slots)
	var all sync.WaitGroup
	for n := range servers {
		all.Go(func() {
			s := open(t, "shop", server.URL(""))
			each(slots, func(i int) {
				slot, run := (i*7+n*31)%slots, holder(fmt.Sprint("run-", n))
				err := s.Claim(ctx, fmt.Sprint("slot-", slot), time.Now(), run)
				for try := 1; errors.As(err, new(*mutex.StoreError)) && try < 100; try++ {
					time.Sleep(50 * time.Millisecond)
					err = s.Claim(ctx, fmt.Sprint("slot-", slot), time.Now(), run)
				}
				if err == nil {
					won[slot].Add(1)
				} else if !errors.As(err, new(*mutex.HeldError)) {
					t.Errorf("server %d: %v", n, err)
				}
				claimed()
			})
		})
	}
	all.Wait()
	for i := range won {
		if n := won[i].Load(); n != 1 {
			t.Errorf("slot %d was taken %d times", i, n)
		}
	}
}

// Fifteen servers want the same slots: each is taken once, whatever deadlocks.
func TestManyServersTakeEachSlotOnce(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		raceForSlots(t, server, 15, 340, mutex.Concurrently, func() {})
	})
}

// 200 tasks with both keys are decided in 1.5 s, 40 ms away; also for a server that comes too late.
func TestManyTasksAreDecidedSoonFarAway(t *testing.T) {
	for _, kind := range sqltest.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			server := sqltest.Shared(t, kind)
			proxy, url := proxyTo(t, server)
			open(t, "shop", url).Now(ctx) // makes the tables
			proxy.Set(redistest.Fault{Delay: 40 * time.Millisecond})
			decide := func(schedule, run string) (took time.Duration, won int64) {
				s := open(t, schedule, url)
				var wins atomic.Int64
				begun := time.Now()
				mutex.Concurrently(200, func(i int) {
					var held *mutex.HeldError
					err := s.Claim(ctx, fmt.Sprint("slot-", i), time.Now(), holder(run))
					if err == nil {
						_, err = s.Acquire(ctx, fmt.Sprint("task-", i), holder(run))
					}
					if err == nil {
						wins.Add(1)
					} else if !errors.As(err, &held) {
						t.Error(err)
					}
				})
				return time.Since(begun), wins.Load()
			}
			for try := 1; ; try++ { // the machine may be busy
				schedule := fmt.Sprint("shop-", try)
				first, won := decide(schedule, "run-1")
				second, lost := decide(schedule, "run-2")
				t.Logf("the first took %s, the second %s", first, second)
				if won != 200 || lost != 0 {
					t.Fatalf("they won %d and %d", won, lost)
				}
				if limit := machine.Within(1500 * time.Millisecond); first < limit && second < limit {
					return
				}
				if try == 5 {
					t.Fatalf("it took %s and %s", first, second)
				}
			}
		})
	}
}

// If others have all connections for a moment, we wait. If they keep them for longer, the error
// says so.
func TestAFullServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range sqltest.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			options := map[string][]string{
				sqltest.Postgres.Name: {"-c", "max_connections=5", "-c", "superuser_reserved_connections=0",
					"-c", "max_wal_senders=0"},
				sqltest.MariaDB.Name: {"--max-connections=10"},
			}
			server := sqltest.Start(t, kind, options[kind.Name]...)
			var all []mutex.Store
			var err error
			for err == nil && len(all) < 20 { // each keeps a connection for seconds
				all = append(all, open(t, "shop", server.URL("")))
				_, err = all[len(all)-1].Now(ctx)
			}
			if err == nil {
				t.Fatal("the server is not full")
			}
			until(t, "it says so", func() bool { // a busy machine may refuse too late
				for _, s := range all {
					s.Now(ctx)
				}
				return strings.Contains(fmt.Sprint(all[len(all)-1].Claim(ctx, "slot", time.Now(), holder("run-1"))),
					"takes no more connections")
			})
			go func() {
				time.Sleep(500 * time.Millisecond) // in the two seconds of the claim
				all[0].Close()
			}()
			if err := open(t, "shop", server.URL("")).Claim(ctx, "slot", time.Now(), holder("run-1")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAReadOnlyDatabaseSaysSoUntilItTakesWrites(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		s := open(t, "shop", server.URL(""))
		useAll(t, s)
		on, off := "ALTER DATABASE sched SET default_transaction_read_only = on",
			"BEGIN READ WRITE; ALTER DATABASE sched RESET default_transaction_read_only; COMMIT"
		if server.Name == sqltest.MariaDB.Name {
			server.Exec("CREATE USER app IDENTIFIED BY 'secret'; GRANT SELECT, INSERT, UPDATE, DELETE ON sched.* TO app")
			s = open(t, "shop", server.URL("app:secret"))
			on, off = "SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0"
		} else {
			s.Close()
			s = open(t, "shop", server.URL(""))
		}
		server.Exec(on)
		refused(t, s.Claim(ctx, "slot", time.Now(), holder("run-1")), "takes no writes")
		server.Exec(off)
		until(t, "it takes writes again",
			func() bool { return s.Claim(ctx, "slot", time.Now(), holder("run-1")) == nil })
	})
}

// A process that claims removes rows that have ended, and no other rows.
func TestClaimsThatAreOverAreRemoved(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		s := open(t, "shop", server.URL(""))
		mutex.Concurrently(50, func(i int) { s.Claim(ctx, fmt.Sprint("old-", i), time.Now(), holder("run-1")) })
		server.Exec("UPDATE sched_entry SET ends = 1")
		if err := s.Claim(ctx, "new", time.Now(), holder("run-1")); err != nil {
			t.Fatal(err)
		}
		s.Close()
		until(t, "one is left", func() bool { return server.Exec("SELECT count(*) FROM sched_entry") == "1" })
		heldBy(t, open(t, "shop", server.URL("")).Claim(ctx, "new", time.Now(), holder("run-2")), "run-1")
	})
}

func TestAUserWithTheFewestRightsCanDoEverything(t *testing.T) {
	onEach(t, func(t *testing.T, server *sqltest.Server) {
		if server.Name == sqltest.Postgres.Name {
			server.Exec("REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE USER app LOGIN PASSWORD 'secret'")
		} else {
			server.Exec("CREATE USER app IDENTIFIED BY 'secret'; GRANT SELECT ON sched.* TO app")
		}
		refused(t, open(t, "shop", server.URL("app:secret")).Claim(ctx, "slot", time.Now(), holder("run-1")),
			"does not let the user do that")
		tables, ok := sqlstore.Tables(server.Scheme, "")
		if !ok {
			t.Fatal("there are no tables")
		}
		server.Exec(tables)
		server.Exec(tables) // twice does nothing
		for _, table := range []string{"sched_entry", "sched_log"} {
			server.Exec("GRANT SELECT, INSERT, UPDATE, DELETE ON " + table + " TO app")
		}
		server.Exec("GRANT SELECT ON sched_version TO app")
		useAll(t, open(t, "shop", server.URL("app:secret")))
	})
}

func TestTablesOfANewerVersionAreRefused(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		useAll(t, open(t, "shop", server.URL("")))
		useAll(t, open(t, "shop", server.URL("")+"?prefix=other_"))
		server.Exec("INSERT INTO sched_version VALUES (99)")
		refused(t, open(t, "shop", server.URL("")).Claim(ctx, "slot", time.Now(), holder("run-1")), "newer sched")
		useAll(t, open(t, "shop", server.URL("")+"?prefix=other_"))
	})
}

func TestAWrongURLIsExplained(t *testing.T) {
	onShared(t, func(t *testing.T, server *sqltest.Server) {
		claim := func(url string) error { return open(t, "shop", url).Claim(ctx, "slot", time.Now(), holder("run-1")) }
		err := claim(server.URL("sched:not-secret"))
		refused(t, err, "refuses the user or the password")
		if wrong, ok := errors.AsType[*mutex.StoreError](err); !ok ||
			!strings.HasPrefix(wrong.Hint, "write "+server.Scheme+"://user:password@host/") {
			t.Errorf("the hint is for another database: %+v", err)
		}
		refused(t, claim(strings.Replace(server.URL(""), "/"+server.Database(), "/other", 1)), "has no database of that name")
		refused(t, claim(server.Scheme+"://sched:secret@no-such-host..test/"+server.Database()),
			"does not answer: there is no host of that name")
		refused(t, claim(server.URL("")+"?sslmode=verify-full"), "does not answer: ")
		useAll(t, open(t, "shop", server.Scheme+"://sched:secret@/"+server.Database()+"?socket="+server.Socket))
	})
}

func TestASchemaHasItsOwnTables(t *testing.T) {
	t.Parallel()
	server := sqltest.Shared(t, sqltest.Postgres)
	refused(t, open(t, "shop", server.URL("")+"?prefix=jobs.sched_").Claim(ctx, "slot", time.Now(), holder("run-1")), "answers: ")
	server.Exec("CREATE SCHEMA jobs")
	useAll(t, open(t, "shop", server.URL("")+"?prefix=jobs.sched_"))
	if got := server.Exec("SELECT count(*) FROM jobs.sched_version"); got != "1" {
		t.Error(got)
	}
}

// Serializable as the default of a database costs repetitions and nothing else.
func TestSerializationFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	server := sqltest.Shared(t, sqltest.Postgres)
	server.Exec("ALTER DATABASE " + server.Database() + " SET default_transaction_isolation = serializable")
	var won atomic.Int32
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			s := open(t, "shop", server.URL(""))
			mutex.Concurrently(50, func(i int) {
				var held *mutex.HeldError
				if err := s.Claim(ctx, fmt.Sprint("slot-", i), time.Now(), holder(fmt.Sprint("run-", n))); err == nil {
					won.Add(1)
				} else if !errors.As(err, &held) {
					t.Error(err)
				}
			})
		})
	}
	all.Wait()
	if won.Load() != 50 {
		t.Errorf("50 slots were taken %d times", won.Load())
	}
}

// A pooler in transaction mode gives each statement another connection.
func TestAPoolerInTransactionModeIsEnough(t *testing.T) {
	t.Parallel()
	server := sqltest.Shared(t, sqltest.Postgres)
	pooler := sqltest.Require(t, "pgbouncer")
	dir := filepath.Dir(server.Socket)
	host, port, _ := strings.Cut(server.Address, ":")
	settings := fmt.Sprintf("[databases]\n* = host=%s port=%s user=sched password=secret\n[pgbouncer]\nlisten_port = %s\nlisten_addr = \n"+
		"unix_socket_dir = %s\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n",
		host, port, port, filepath.Join(dir, "b"))
	os.Mkdir(filepath.Join(dir, "b"), 0o777)
	os.Chmod(filepath.Join(dir, "b"), 0o777)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "b", ".s.PGSQL."+port)
	process := server.Command(pooler, file)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Process.Kill(); process.Wait() })
	until(t, "the pooler listens", func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			useAll(t, open(t, fmt.Sprint("shop-", n), "postgres://sched@/"+server.Database()+"?socket="+socket))
		})
	}
	all.Wait()
}

// A server may end statements that take too long, as when somebody has our rows locked. It undoes
// them, so they are tried again.
func TestAStatementThatTheServerEndsIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range sqltest.Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			server := sqltest.Start(t, kind)
			limits := map[string]string{
				sqltest.Postgres.Name: "ALTER DATABASE sched SET statement_timeout = '100ms'",
				sqltest.MariaDB.Name:  "SET GLOBAL max_statement_time = 0.1",
			}
			server.Exec(limits[kind.Name])
			s := open(t, "shop", server.URL(""))
			until(t, "it has a row", func() bool { return s.Claim(ctx, "slot", time.Now(), holder("run-1")) == nil })
			stranger, _ := connect(t, server)
			until(t, "an answer has come in time", func() bool { // a busy machine may let it wait too long
				tx, err := stranger.Begin()
				if err == nil {
					_, err = tx.Exec("UPDATE sched_entry SET ends = ends + 1")
				}
				if err != nil {
					return false
				}
				begun, claimed := time.Now(), make(chan error, 1)
				go func() { claimed <- s.Claim(ctx, "slot", time.Now(), holder("run-1")) }()
				until(t, "a statement was ended", func() bool { return time.Since(begun) > 500*time.Millisecond })
				tx.Rollback()
				err = <-claimed
				if text := fmt.Sprint(err); err != nil && !strings.Contains(text, "in time") &&
					!strings.Contains(text, "does not answer") {
					t.Fatal(err)
				}
				return err == nil
			})
		})
	}
}
