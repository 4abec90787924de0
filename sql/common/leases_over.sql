-- Claimed tasks whose lease ended before now, by id. Zero rows: none.
select k.id from tasks k where k.status = 'claimed' and k.lease_until < :now order by k.id limit :limit
