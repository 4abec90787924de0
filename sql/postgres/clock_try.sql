-- Takes the right to run the clock, for as long as this connection lives. `got` is false: another has it.
select pg_try_advisory_lock(:clock) as got
