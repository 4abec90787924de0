-- The database's clock, read when the statement runs. Always one row.
select clock_timestamp() as now
