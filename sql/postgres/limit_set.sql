-- Bounds how long this transaction waits for each lock (milliseconds, as text). Always one row.
select set_config('lock_timeout', :limit, true) as lock_timeout
