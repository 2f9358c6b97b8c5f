# R over a BLAS that uses OpenMP, and R's own parallel loops: products, solving, distances, sums of columns.
set.seed(1)
whole <- matrix(runif(400 * 400), 400)
begin <- proc.time()[["elapsed"]]
for (turn in 1:150) {
  product <- crossprod(whole)
  solved <- solve(product + 400 * diag(400), whole)
  sums <- colSums(solved)
}
apart <- dist(whole)
cat("seconds", proc.time()[["elapsed"]] - begin, "\n")
cat("sum", format(sum(sums), digits = 6), "apart", format(mean(apart), digits = 6), "\n")
