-- Waits out whoever raises the epoch, and keeps it where it is until this transaction ends. Always one row.
select pg_advisory_xact_lock_shared(:fence) as fenced
