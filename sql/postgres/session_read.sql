-- Which session of the server answers, when it was made, and what the server's clock says. Always one row.
select
    pg_backend_pid() as pid,
    (select a.backend_start from pg_stat_activity a where a.pid = pg_backend_pid()) as made_at,
    clock_timestamp() as now
