-- Finds a ledger entry by its number and its time. Zero rows: that entry was never written.
select l.seq from ledger l where l.token = :token and l.seq = :seq and l.at = :at
