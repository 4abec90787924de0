-- Adds ledger entries. A key or number that is taken is an error; it answers no rows.
insert into ledger (token, seq, at, kind, key, data)
select r.value ->> 'token', r.value ->> 'seq', r.value ->> 'at', r.value ->> 'kind',
       r.value ->> 'key', r.value ->> 'data'
from json_each(:rows) as r where true
