-- Waits until nobody else does what this lock is for, and takes it until the transaction ends. Always one row.
select pg_advisory_xact_lock(:turn) is not null as taken
