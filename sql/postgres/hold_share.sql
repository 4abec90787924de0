-- Takes the right to serve together with others, for as long as this connection lives. `got` is false:
-- somebody has it alone.
select pg_try_advisory_lock_shared(:hold) as got
