/* Complex numbers, as a pair of a real and an imaginary part.

   Sums and differences are C's own, part by part. Products and quotients are these functions: those of C call a function
   of the compiler's library where a part is NaN, which no loop of vectors can do, and their bits depend on the compiler.

       (a + bi) (c + di)   (ac - bd) + (ad + bc)i, each product and sum rounded; like NumPy and unlike C's annex G an infinite
                           number times another may be NaN in both parts
       (a + bi) / (c + di) by the method of Smith (Algorithm 116, Communications of the ACM 5, 1962), in double; like NumPy a
                           quotient by 0 is a / |c| + (b / |c|)i

   This text is pasted once for each type: ELEMENT is float _Complex or double _Complex, PART is float or double,
   TYPED(name) is name_c64 or name_c128. */

#ifndef ADJOINT_COMPLEX_H
#define ADJOINT_COMPLEX_H

/* The number itself, which gcc does not look through. From version 12 on it recognises a difference and a sum side by side
   as one instruction of vectors, and fuses a product into it, -ffp-contract=off or not. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define ADJOINT_ROUNDED(x) __builtin_assoc_barrier(x)
#else
#define ADJOINT_ROUNDED(x) (x)
#endif

/* The number with these parts, which are not made alike, so that gcc does not take them for a pair of vector elements. */
static inline double _Complex adjoint_of_parts(double real, double imag) {
    double _Complex made;
    __real__ made = ADJOINT_ROUNDED(real);
    __imag__ made = imag;
    return made;
}

static inline double _Complex adjoint_quotient(double _Complex x, double _Complex y) {
    double a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y, size = fabs(c);
    int first = size >= fabs(d), zero = (c == 0) & (d == 0);
    double larger = first ? c : d, smaller = first ? d : c;
    double ratio = smaller / larger, scale = 1.0 / (larger + smaller * ratio);
    double real = (first ? a + b * ratio : a * ratio + b) * scale;
    double imag = (first ? b - a * ratio : b * ratio - a) * scale;
    return adjoint_of_parts(zero ? a / size : real, zero ? b / size : imag);
}

#endif

/* As `adjoint_of_parts`. */
static inline ELEMENT TYPED(adjoint_complex)(PART real, PART imag) {
    ELEMENT made;
    __real__ made = ADJOINT_ROUNDED(real);
    __imag__ made = imag;
    return made;
}

static inline PART TYPED(adjoint_real)(ELEMENT x) {
    return __real__ x;
}

static inline PART TYPED(adjoint_imag)(ELEMENT x) {
    return __imag__ x;
}

static inline ELEMENT TYPED(adjoint_conj)(ELEMENT x) {
    __imag__ x = -__imag__ x;
    return x;
}

static inline ELEMENT TYPED(adjoint_times)(ELEMENT x, ELEMENT y) {
    PART a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    ELEMENT made;
    __real__ made = ADJOINT_ROUNDED(a * c) - ADJOINT_ROUNDED(b * d);
    __imag__ made = ADJOINT_ROUNDED(a * d) + ADJOINT_ROUNDED(b * c);
    return made;
}

static inline ELEMENT TYPED(adjoint_over)(ELEMENT x, ELEMENT y) {
    return (ELEMENT)adjoint_quotient(x, y);
}

static inline int TYPED(adjoint_isnan)(ELEMENT x) {
    return isnan(__real__ x) | isnan(__imag__ x);
}

static inline int TYPED(adjoint_isinf)(ELEMENT x) {
    return isinf(__real__ x) | isinf(__imag__ x);
}

static inline int TYPED(adjoint_isfinite)(ELEMENT x) {
    return isfinite(__real__ x) & isfinite(__imag__ x);
}
