-- Waits for every transaction in flight, so that none of the old epoch is left. Always one row.
select pg_advisory_xact_lock(:fence) as fenced
