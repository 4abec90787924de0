-- Reserves numbers for tasks and timers; those that stay unused are gaps. Zero rows: none were asked for.
select nextval('ids') as id from generate_series(1, :count) order by id
