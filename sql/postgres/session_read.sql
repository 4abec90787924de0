-- Which session of the server answers, when it was made, and what the server's clock says. Always one row.
-- Moments are microseconds: nothing is set on the session yet, and a date may be written in any style.
select
    pg_backend_pid() as pid,
    (select (extract(epoch from a.backend_start) * 1000000)::bigint
        from pg_stat_activity a where a.pid = pg_backend_pid()) as made_at,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint as now
