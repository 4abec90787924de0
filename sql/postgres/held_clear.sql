-- Removes what these families hold. Zero rows, always.
delete from held h where h.root = any(:roots::text[])
