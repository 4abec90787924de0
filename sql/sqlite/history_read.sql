-- Reads a token's ledger after a number, in order. Zero rows: no entries, or no
-- such token.
select l.token, l.seq, l.at, l.kind, l.data
from ledger l where l.token = :token and l.seq > :after
order by l.seq
limit :limit
