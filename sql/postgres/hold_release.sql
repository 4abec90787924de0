-- Lets the right to serve alone go; a share in it that this connection has as well is kept. Always one row.
select pg_advisory_unlock(:hold) as released
