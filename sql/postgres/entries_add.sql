-- Adds ledger entries. A key or number that is taken is an error; it answers no rows.
insert into ledger (token, seq, at, kind, key, data)
select r.token, r.seq, r.at, r.kind, r.key, r.data::json
from json_to_recordset(:rows) as r(
        token text, seq bigint, at timestamptz, kind text, key text, data text)
order by r.token, r.seq
