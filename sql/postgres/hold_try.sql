-- Takes the right to serve, for as long as this connection lives. `got` is false: another has it.
select pg_try_advisory_lock(:hold) as got
